import type { Bus } from '#libs/bus/port';
import { CellLink } from '#libs/cells/cell-link';
import { cellSummaryCodec } from '#libs/contracts/cell-summary';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import { type Random, randomInt, seededRandom } from '#libs/domain/random';
import { requestSpec } from '#libs/domain/request-spec';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { percentile } from '#libs/runtime/percentiles';
import { systemClock } from '#libs/runtime/system';
import { fakeClock } from '#libs/testing/fake-clock';
import { summariseHosts } from '../../../services/scheduler/summary/summarise-hosts';
import { KnownCell } from '../../../services/top-scheduler/known-cell';
import { selectCell } from '../../../services/top-scheduler/select-cell';
import type { Bench } from '../harness';
import { TableCell } from './table-cell';

/*
 * The top of a fleet of many cells: its own code decides, on summaries that a scheduler's own code makes; the cells themselves
 * are tables of free amounts, which claim and refuse as schedulers would. No broker and no store: it measures the top.
 */

const SHAPES = [
  { VCPU: 1, MEMORY_MB: 2_048 },
  { VCPU: 2, MEMORY_MB: 8_192 },
  { VCPU: 4, MEMORY_MB: 8_192 },
  { VCPU: 8, MEMORY_MB: 65_536 },
  { VCPU: 24, MEMORY_MB: 98_304 },
  { VCPU: 32, MEMORY_MB: 131_072 },
] as const;
const ZONES = ['east', 'west', 'north'];
const NO_GROUPS = { count: () => new Map<string, number>(), expect: () => {} };
const CONFIG = { maxAsked: 5, askTimeoutMs: 1_000, refusalMs: 5_000 };

/** `npm run bench -- cells`: a fleet of 100 cells with 10,000 hosts each. */
export const cellsBench: Bench = {
  name: 'cells',
  purpose: 'decisions of the top on summaries of 100 cells with 10,000 hosts each: per second, wrong guesses, bytes',
  flags: {
    cells: '100',
    hosts: '10000, in each',
    decisions: '20000',
    rate: '2000, decisions in a second',
    tops: '2, top schedulers',
    used: '0.9, of the capacity',
    seed: '1',
  },
  run: async (context) => {
    const { flags } = context;
    const [cellCount, hostCount] = [Number(flags['cells'] ?? 100), Number(flags['hosts'] ?? 10_000)];
    const decisions = Number(flags['decisions'] ?? 20_000);
    const rate = Number(flags['rate'] ?? 2_000);
    const tops = Number(flags['tops'] ?? 2);
    const used = Number(flags['used'] ?? 0.9);
    context.note(
      `${cellCount} cells of ${hostCount} hosts, ${Math.round(used * 100)} % in use; ${tops} top schedulers`,
    );
    const random = seededRandom(Number(flags['seed'] ?? 1));
    const cells = Array.from(
      { length: cellCount },
      (_, n) => new TableCell(hostCount, used, ZONES[n % 3] ?? '', random),
    );
    const bench = new TopBench(cells, tops, random);
    await bench.open();
    for (let n = 0; n < decisions; n++) {
      if (n % rate === 0) await bench.nextSecond();
      await bench.decide(n % tops);
    }
    return { cells: cellCount, hosts: cellCount * hostCount, decisions, ...bench.results() };
  },
};

/** Top schedulers, and the cells that they choose from. */
class TopBench {
  /** The fleet's own time; durations are measured by the machine's clock. */
  readonly #time = fakeClock();
  readonly #clock = systemClock();
  readonly #tally = { selected: 0, refused: 0, wrongly: 0, asked: 0, wrongGuesses: 0, updates: 0 };
  readonly #tookMs: number[] = [];
  readonly #summaryMs: number[] = [];
  readonly #bytes: number[] = [];
  #known: readonly ReadonlyMap<string, KnownCell>[] = [];

  constructor(
    private readonly cells: readonly TableCell[],
    private readonly tops: number,
    private readonly random: Random,
  ) {}

  /** Each top scheduler has its own links and summaries. */
  async open(): Promise<void> {
    const around = { clock: this.#time, random: this.random, log: silentLog, metrics: createMetrics({}) };
    this.#known = Array.from({ length: this.tops }, () => {
      const links = this.cells.map((cell, n) => new CellLink(`c${n}`, async () => cell as unknown as Bus, around));
      return new Map(links.map((link) => [link.cell, new KnownCell(link, this.#time)]));
    });
    await new Promise(setImmediate);
  }

  /** Advances the fleet by a second: every cell makes a summary, and the top takes it. */
  async nextSecond(): Promise<void> {
    await this.#time.advance(1_000);
    for (const [n, cell] of this.cells.entries()) {
      const startedAtMs = this.#clock.elapsed();
      const summary = summariseHosts(cell.hosts());
      this.#summaryMs.push(this.#clock.elapsed() - startedAtMs);
      this.#bytes.push(cellSummaryCodec.encode(summary).length);
      for (const cells of this.#known) {
        const known = cells.get(`c${n}`);
        const isNew = known?.summary?.digest !== summary.digest;
        if (isNew) this.#tally.updates++;
        known?.heard(isNew ? summary : undefined);
      }
    }
  }

  /** One request, by one of the top schedulers. */
  async decide(top: number): Promise<void> {
    const { random } = this;
    const shape = SHAPES[randomInt(random, SHAPES.length)] ?? SHAPES[0];
    const zone = random.next() < 0.3 ? ZONES[randomInt(random, 3)] : undefined;
    const requiredTraits = random.next() < 0.2 ? ['CUSTOM_NVME'] : [];
    const asked = requestSpec(
      { ...shape },
      { projectId: 'p', userId: 'u', requiredTraits, ...(zone ? { availabilityZone: zone } : {}) },
    );
    const request = {
      requestId: random.uuid(),
      requestSpec: requestSpecCodec.encode(asked),
      instanceUuids: [random.uuid()],
      numAlternates: 0,
    };
    const cells = this.#known[top] ?? new Map<string, KnownCell>();
    const cellsMsBefore = TableCell.workMs;
    const startedAtMs = this.#clock.elapsed();
    const spec = resolveSpec(requestSpecCodec.decode(request.requestSpec), 'spec');
    const onAsked = (outcome: string) => {
      this.#tally.asked++;
      if (outcome === 'refused') this.#tally.wrongGuesses++;
    };
    const answer = await selectCell(spec, request, { cells, random, config: CONFIG, zoneMembers: NO_GROUPS, onAsked });
    this.#tookMs.push(this.#clock.elapsed() - startedAtMs - (TableCell.workMs - cellsMsBefore));
    if (answer.destinations.length > 0) {
      this.#tally.selected++;
      return;
    }
    this.#tally.refused++;
    if (this.cells.some((cell) => cell.find(shape, zone, requiredTraits) !== undefined)) this.#tally.wrongly++;
  }

  results() {
    const { selected, refused, wrongly, asked, wrongGuesses, updates } = this.#tally;
    const count = this.#tookMs.length;
    return {
      decisions_per_s: Math.round((1_000 * count) / sumOf(this.#tookMs)),
      decision_p50_ms: rounded(percentile(this.#tookMs, 50), 3),
      decision_p99_ms: rounded(percentile(this.#tookMs, 99), 3),
      selected,
      refused,
      refused_wrongly: wrongly,
      calls_per_decision: rounded(asked / count),
      wrong_guess_percent: rounded((100 * wrongGuesses) / Math.max(1, asked)),
      summary_bytes_mean: Math.round(sumOf(this.#bytes) / this.#bytes.length),
      summary_bytes_max: Math.max(...this.#bytes),
      summary_bytes_all_cells: Math.round((sumOf(this.#bytes) / this.#bytes.length) * this.cells.length),
      summary_ms_mean: rounded(sumOf(this.#summaryMs) / this.#summaryMs.length),
      summary_updates: updates,
    };
  }
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}
