import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type HostDescription, type HostHardware, hostCellsOf, pciPoolsOf } from '../hardware/host-hardware';
import { readHostTopology, readPciPools } from '../objects/hardware';
import type { ReadDatabase, Row } from './mysql';

/** Rows are read again when they changed since the last read but for this, for the clocks of conductors. */
const CLOCKS_DIFFER_BY_S = 60;
/** All rows are read so often, which forgets deleted ones. */
const WHOLE_READ_MS = 600_000;
const PAGE = 500;
/** Columns that only JsonFilter asks for. */
const DESCRIBED = ', stats, cpu_info, supported_instances';
/** More nodes than any cell has. */
const MAX_PAGES = 100;
/** Nova's defaults, for a row without ratios: its compute has not written any yet. */
const [CPU_RATIO, RAM_RATIO] = [4, 1];

/** The hardware of a cell's nodes. Of thousands of nodes with their long topologies only those that changed are read. */
export class CellHardware {
  #byNode = new Map<string, { readonly text: string; readonly hardware: HostHardware }>();
  /** By the database's clock; undefined before a whole read. */
  #readTo: string | undefined;
  #wholeAtMs = 0;

  constructor(
    private readonly database: ReadDatabase,
    private readonly clock: Pick<Clock, 'elapsed'>,
    private readonly describesHosts: boolean,
  ) {}

  /** The hardware by node's uuid. A node whose hardware did not change has the object of the last read. */
  async read(): Promise<ReadonlyMap<string, HostHardware>> {
    const atMs = this.clock.elapsed();
    const since = atMs - this.#wholeAtMs > WHOLE_READ_MS ? undefined : this.#readTo;
    const [now] = await this.database.rows('select utc_timestamp() as now');
    const rows = await this.#changedSince(since);
    const kept = rows.map((row) => {
      const text = JSON.stringify(row);
      const known = this.#byNode.get(String(row['uuid']));
      return [String(row['uuid']), known?.text === text ? known : { text, hardware: hardwareOf(row) }] as const;
    });
    this.#byNode = new Map(since === undefined ? kept : [...this.#byNode, ...kept]);
    this.#readTo = String(now?.['now']);
    if (since === undefined) this.#wholeAtMs = atMs;
    return new Map([...this.#byNode].map(([uuid, { hardware }]) => [uuid, hardware]));
  }

  async #changedSince(since = '1000-01-01'): Promise<readonly Row[]> {
    const sql = `select id, uuid, numa_topology, pci_stats, metrics, cpu_allocation_ratio, ram_allocation_ratio${this.describesHosts ? DESCRIBED : ''},
      case when json_valid(stats) then json_unquote(json_extract(stats, '$.failed_builds')) end as failed_builds from compute_nodes
      where deleted = 0 and id > ? and coalesce(updated_at, created_at) >= ? - interval ${CLOCKS_DIFFER_BY_S} second
      order by id limit ${PAGE}`;
    const all: Row[] = [];
    for (let page = 0; page < MAX_PAGES; page++) {
      const rows = await this.database.rows(sql, [Number(all.at(-1)?.['id'] ?? 0), since]);
      all.push(...rows);
      if (rows.length < PAGE) return all;
    }
    throw new BerthError(
      'resource_exhausted',
      'too_many_nodes',
      `Nova has more than ${MAX_PAGES * PAGE} nodes in a cell`,
    );
  }
}

/** A row's hardware; a topology or pools of a form that is not known are none, so that nothing is placed by them. */
function hardwareOf(row: Row): HostHardware {
  return {
    cells: parsed(row['numa_topology'], (value) => hostCellsOf(readHostTopology(value, 'numa_topology'))),
    pools: parsed(row['pci_stats'], (value) => pciPoolsOf(readPciPools(value, 'pci_stats'))),
    cpuAllocationRatio: Number(row['cpu_allocation_ratio']) || CPU_RATIO,
    ramAllocationRatio: Number(row['ram_allocation_ratio']) || RAM_RATIO,
    failedBuilds: Number(row['failed_builds']) || 0,
    metrics: new Map(parsed(row['metrics'], metricsOf)),
    ...('stats' in row && { described: describedBy(row) }),
  };
}

function describedBy(row: Row): HostDescription {
  const { cpu_info: cpuInfo, stats, supported_instances: supported } = row;
  return {
    cpuInfo: typeof cpuInfo === 'string' ? cpuInfo : undefined,
    stats: typeof stats === 'string' && stats !== '' ? new Map(parsed(stats, statsOf)) : undefined,
    supportedInstances: parsed(supported, (value) => (Array.isArray(value) ? value.map(textsOf) : [])),
  };
}

/** Nova reads all statistics as texts. */
function statsOf(value: unknown): readonly (readonly [name: string, value: string])[] {
  return Object.entries((value ?? {}) as Row).flatMap(([name, one]) =>
    one === null ? [] : [[name, typeof one === 'string' ? one : JSON.stringify(one)] as const],
  );
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function parsed<T>(text: unknown, read: (value: unknown) => readonly T[]): readonly T[] {
  if (typeof text !== 'string' || text === '') return [];
  try {
    return read(JSON.parse(text));
  } catch {
    return [];
  }
}

/** Nova stores shares of these as 0..1 and weighs them as whole percents. */
const IN_PERCENT = /^cpu\.((user|kernel|idle|iowait)\.)?percent$/;
const PERCENT = 100;

function metricsOf(value: unknown): readonly (readonly [name: string, value: number | undefined])[] {
  const metrics = Array.isArray(value) ? (value as readonly Readonly<Record<string, unknown>>[]) : [];
  return metrics.flatMap(({ name, value: amount }) => {
    if (typeof name !== 'string') return [];
    const factor = IN_PERCENT.test(name) ? PERCENT : 1;
    return [[name, typeof amount === 'number' ? Math.trunc(amount * factor) : undefined] as const];
  });
}
