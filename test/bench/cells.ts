import type { Bus } from '#libs/bus/port';
import { CellLink } from '#libs/cells/cell-link';
import { cellSummaryCodec } from '#libs/contracts/cell-methods';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { type Random, randomInt, seededRandom } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { percentile } from '#libs/runtime/percentiles';
import { systemClock } from '#libs/runtime/system';
import type { HostState } from '../../services/scheduler/fleet/host-state';
import { summariseHosts } from '../../services/scheduler/summary/summarise-hosts';
import { KnownCell } from '../../services/top-scheduler/known-cell';
import { selectCell } from '../../services/top-scheduler/select-cell';
import type { Bench } from './harness';

/*
 * The top of a fleet of many cells: its own code decides, on summaries that a scheduler's own code makes; the cells themselves
 * are tables of free amounts, which claim and refuse as schedulers would. No broker and no store: it measures the top.
 */

const SHAPES = [
  { VCPU: 1, MEMORY_MB: 2_048 },
  { VCPU: 2, MEMORY_MB: 8_192 },
  { VCPU: 4, MEMORY_MB: 8_192 },
  { VCPU: 8, MEMORY_MB: 65_536 },
  { VCPU: 32, MEMORY_MB: 131_072 },
] as const;
const HOST_VCPUS = 64;
const HOST_MEMORY_MB = 262_144;
const ZONES = ['east', 'west', 'north'];
const TRAITS = [['COMPUTE_NODE'], ['COMPUTE_NODE', 'HW_CPU_X86_AVX512F'], ['COMPUTE_NODE', 'CUSTOM_NVME']];

/** `npm run bench -- cells`: a fleet of 100 cells with 10,000 hosts each. */
export const cellsBench: Bench = {
  name: 'cells',
  purpose: 'decisions of the top on summaries of 100 cells with 10,000 hosts each: per second, wrong guesses, bytes',
  async run({ flags, note }) {
    const cellCount = Number(flags['cells'] ?? 100);
    const hostCount = Number(flags['hosts'] ?? 10_000);
    const decisions = Number(flags['decisions'] ?? 20_000);
    const rate = Number(flags['rate'] ?? 2_000);
    const tops = Number(flags['tops'] ?? 2);
    const used = Number(flags['used'] ?? 0.9);
    const random = seededRandom(Number(flags['seed'] ?? 1));
    const clock = systemClock();
    note(`${cellCount} cells of ${hostCount} hosts, ${Math.round(used * 100)} % in use; ${tops} top schedulers`);
    const fleet = Array.from(
      { length: cellCount },
      (_, n) => new TableCell(hostCount, used, ZONES[n % 3] ?? '', random),
    );
    const around = { clock, random, log: silentLog, metrics: createMetrics({}) };
    const each = await Promise.all(
      Array.from({ length: tops }, async () => {
        const links = fleet.map((cell, n) => new CellLink(`c${n}`, async () => cell as unknown as Bus, around));
        await Promise.resolve();
        return new Map(links.map((link) => [link.cell, new KnownCell(link, clock)]));
      }),
    );
    await new Promise(setImmediate);

    const summaryMs: number[] = [];
    const bytes: number[] = [];
    let summaryUpdates = 0;
    const refresh = () => {
      for (const [n, cell] of fleet.entries()) {
        const startedAtMs = clock.elapsed();
        const summary = summariseHosts(cell.hosts());
        summaryMs.push(clock.elapsed() - startedAtMs);
        bytes.push(cellSummaryCodec.encode(summary).length);
        for (const cells of each) {
          const known = cells.get(`c${n}`);
          if (known?.summary?.digest !== summary.digest) summaryUpdates++;
          known?.heard(known.summary?.digest === summary.digest ? undefined : summary);
        }
      }
    };

    const tally = { selected: 0, refusedByAll: 0, wrong: 0, wrongRefusals: 0, asked: 0 };
    const tookMs: number[] = [];
    const config = { maxAsked: 5, askTimeoutMs: 1_000, refusalMs: 5_000 };
    for (let n = 0; n < decisions; n++) {
      // A second of the fleet's life lies between two summaries of a cell.
      if (n % rate === 0) refresh();
      const cells = each[n % tops] as Map<string, KnownCell>;
      const shape = SHAPES[randomInt(random, SHAPES.length)] ?? SHAPES[0];
      const zone = random.next() < 0.3 ? ZONES[randomInt(random, 3)] : undefined;
      const traits = random.next() < 0.2 ? ['CUSTOM_NVME'] : [];
      const asked = requestSpec(
        { ...shape },
        { projectId: 'p', userId: 'u', requiredTraits: traits, ...(zone ? { availabilityZone: zone } : {}) },
      );
      const request = {
        requestId: random.uuid(),
        requestSpec: requestSpecCodec.encode(asked),
        instanceUuids: [random.uuid()],
        numAlternates: 0,
      };
      const cellsMsBefore = TableCell.workMs;
      const startedAtMs = clock.elapsed();
      const spec = resolveSpec(requestSpecCodec.decode(request.requestSpec), 'spec');
      const onAsked = (outcome: string) => {
        tally.asked++;
        if (outcome === 'refused') tally.wrong++;
      };
      const answer = await selectCell(spec, request, { cells, random, config, onAsked });
      tookMs.push(clock.elapsed() - startedAtMs - (TableCell.workMs - cellsMsBefore));
      if (answer.destinations.length > 0) tally.selected++;
      else {
        tally.refusedByAll++;
        if (fleet.some((cell) => cell.find(shape, zone, traits) !== undefined)) tally.wrongRefusals++;
      }
    }
    const totalMs = tookMs.reduce((sum, ms) => sum + ms, 0);
    const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    const round = (value: number, digits = 2) => Number(value.toFixed(digits));
    return {
      cells: cellCount,
      hosts: cellCount * hostCount,
      decisions,
      decisions_per_s: Math.round((1_000 * decisions) / totalMs),
      decision_p50_ms: round(percentile(tookMs, 50), 3),
      decision_p99_ms: round(percentile(tookMs, 99), 3),
      selected: tally.selected,
      refused: tally.refusedByAll,
      refused_wrongly: tally.wrongRefusals,
      calls_per_decision: round(tally.asked / decisions),
      wrong_guess_percent: round((100 * tally.wrong) / Math.max(1, tally.asked)),
      summary_bytes_mean: Math.round(mean(bytes)),
      summary_bytes_max: Math.max(...bytes),
      summary_bytes_all_cells: Math.round(mean(bytes) * cellCount),
      summary_ms_mean: round(mean(summaryMs)),
      summary_updates: summaryUpdates,
    };
  },
};

/** A cell as a table: what each of its hosts has free. In the place of a bus, it answers `SelectDestinations`. */
class TableCell {
  /** Spent in cells, which is not the top's. */
  static workMs = 0;
  readonly #vcpus: Int32Array;
  readonly #memoryMb: Int32Array;
  readonly #kinds: Uint8Array;
  readonly #clock = systemClock();
  readonly #aggregates;

  constructor(
    hostCount: number,
    used: number,
    private readonly zone: string,
    private readonly random: Random,
  ) {
    this.#vcpus = Int32Array.from({ length: hostCount }, () => Math.floor(HOST_VCPUS * this.#free(used)));
    this.#memoryMb = Int32Array.from({ length: hostCount }, () => Math.floor(HOST_MEMORY_MB * this.#free(used)));
    this.#kinds = Uint8Array.from({ length: hostCount }, () => (random.next() < 0.8 ? 0 : 1 + randomInt(random, 2)));
    this.#aggregates = [{ uuid: '', name: zone, metadata: { [ZONE_KEY]: zone }, createdAtMs: 0, updatedAtMs: 0 }];
  }

  /** Hosts differ: most are nearly full, some are not. */
  #free(used: number): number {
    return Math.min(1, -Math.log(1 - this.random.next()) * (1 - used));
  }

  /** As much of each host as a summary reads. */
  *hosts(): Iterable<HostState> {
    for (let n = 0; n < this.#vcpus.length; n++) {
      const free = { VCPU: this.#vcpus[n] ?? 0, MEMORY_MB: this.#memoryMb[n] ?? 0 };
      const traits = TRAIT_SETS[this.#kinds[n] ?? 0];
      const host = { up: true, enabled: true };
      yield { host, aggregates: this.#aggregates, traits, free, instances: 0 } as unknown as HostState;
    }
  }

  find(
    shape: Readonly<Record<string, number>>,
    zone: string | undefined,
    traits: readonly string[],
  ): number | undefined {
    if (zone !== undefined && zone !== this.zone) return undefined;
    const count = this.#vcpus.length;
    const from = randomInt(this.random, count);
    for (let i = 0; i < count; i++) {
      const n = (from + i) % count;
      if ((this.#vcpus[n] ?? 0) < (shape['VCPU'] ?? 0) || (this.#memoryMb[n] ?? 0) < (shape['MEMORY_MB'] ?? 0))
        continue;
      if (traits.every((trait) => TRAIT_SETS[this.#kinds[n] ?? 0]?.has(trait))) return n;
    }
    return undefined;
  }

  isConnected(): boolean {
    return true;
  }

  async call(_queue: unknown, { body }: { readonly body: Uint8Array }): Promise<Uint8Array> {
    const startedAtMs = this.#clock.elapsed();
    const { instanceUuids, requestSpec: encoded } = selectDestinationsMethod.request.decode(body);
    const { resources, availabilityZone, requiredTraits } = requestSpecCodec.decode(encoded);
    const at = this.find(resources, availabilityZone || undefined, requiredTraits);
    if (at !== undefined) {
      this.#vcpus[at] = (this.#vcpus[at] ?? 0) - (resources['VCPU'] ?? 0);
      this.#memoryMb[at] = (this.#memoryMb[at] ?? 0) - (resources['MEMORY_MB'] ?? 0);
    }
    const selected = { host: `h${at}`, cell: '', allocationRequest: NO_BYTES, serviceHost: '', epoch: 0 };
    const destination = { instanceUuid: instanceUuids[0] ?? '', selected, alternates: [], claimToken: 1 };
    const response = { destinations: at === undefined ? [] : [destination], noValidHost: undefined };
    const encodedResponse = selectDestinationsMethod.response.encode(response);
    TableCell.workMs += this.#clock.elapsed() - startedAtMs;
    return encodedResponse;
  }

  async close(): Promise<void> {}
}

const TRAIT_SETS = TRAITS.map((traits) => new Set(traits));
const NO_BYTES = new Uint8Array();
