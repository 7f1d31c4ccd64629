import type { WorldName } from '../world/run';
import { isFault } from './faults';
import type { FiledRecord, RealRecord, SeedRecord } from './record';

/** Facts of the report besides its records. */
export interface ReportAbout {
  /** Kinds of events of each world. */
  readonly kinds: Readonly<Record<WorldName, readonly string[]>>;
  /** By program. */
  readonly versions: Readonly<Record<string, string>>;
  readonly mutantCount: number;
  /** Tests on real servers, by their files of records. */
  readonly realTests: readonly string[];
}

const WORLDS: Readonly<Record<WorldName, string>> = {
  fleet: 'A fleet',
  ring: 'Nodes shared by a ring',
  cells: 'Cells and their top',
  racks: 'Hosts in racks, under guarantees',
};

/**
 * The report in Markdown, made of records alone: each fault with each workload, the histories in which both happened and were checked,
 * and the invariants that broke. A cell without a record says so. (After the reports of Jepsen, Kingsbury.)
 */
export function reportOf(records: readonly FiledRecord[], about: ReportAbout): string {
  const seeds = records.filter((one) => one.kind === 'seed');
  const real = records.filter((one) => one.kind !== 'seed');
  const worlds = (Object.keys(WORLDS) as WorldName[]).map((world) => partOf(world, seeds, about.kinds[world]));
  const broken = seeds.filter(({ broke }) => broke);
  const steps = seeds.reduce((sum, { tracedSteps }) => sum + tracedSteps, 0);
  return `${[
    '# Robustness',
    `Written by \`npm run robustness\` from the records of ${seeds.length} simulated histories and of ${new Set(real.map(({ file }) => file)).size} of ${about.realTests.length} tests on real servers.`,
    '## Summary',
    `${broken.length} of ${seeds.length} histories broke an invariant. ${steps} steps of stores and conductors were checked against the model of the protocol. The simulation has ${about.mutantCount} mutants, each of which must break an invariant.`,
    table(
      ['version', 'of'],
      Object.entries(about.versions).map(([of, version]) => [version, of]),
    ),
    '## What broke',
    broken.length === 0 ? 'Nothing.' : broken.map(brokenLine).join('\n'),
    ...worlds,
    '## On real servers',
    real.length === 0 ? 'Not tried: there are no records of fault tests.' : realPart(real),
    '## What was not tried',
    notTried(seeds, real, about),
    'Histories are of small fleets, on virtual time and one thread, in memory stores: RabbitMQ and Redis themselves are in the fault tests only, one run of each, of ten hosts. Nothing here says that what was not tried holds.',
  ].join('\n\n')}\n`;
}

function brokenLine({ world, seed, broke }: SeedRecord): string {
  return `- ${world}, seed ${seed}: *${broke?.invariant}*: ${broke?.message}`;
}

function partOf(world: WorldName, all: readonly SeedRecord[], kinds: readonly string[]): string {
  const seeds = all.filter((one) => one.world === world);
  const title = `## ${WORLDS[world]}`;
  if (seeds.length === 0) return `${title}\n\nNot tried: there are no records of this world.`;
  const workloads = kinds.filter((kind) => !isFault(kind));
  const rows = kinds.filter(isFault).map((fault) => {
    const histories = seeds.filter(({ happened }) => happened.includes(fault));
    const beside = (workload: string) => histories.filter(({ happened }) => happened.includes(workload)).length;
    const counts = workloads.map((workload) => [workload, beside(workload)] as const);
    const tried = counts.filter(([, count]) => count > 0);
    const untried = counts.filter(([, count]) => count === 0).map(([workload]) => workload);
    const broke = histories.filter((one) => one.broke).length;
    if (histories.length === 0) return [fault, 'not tried', '', '', ''];
    const least = Math.min(...tried.map(([, count]) => count));
    return [
      fault,
      String(histories.length),
      `${tried.length} of ${workloads.length}, each ${least} times or more`,
      String(broke),
      untried.join(', ') || 'none',
    ];
  });
  const head = ['fault', 'histories', 'with workloads', 'broke', 'workloads not tried with it'];
  return `${title}\n\nHistories: ${seeds.length}, of seeds ${rangeOf(seeds)}.\n\n${table(head, rows)}`;
}

function rangeOf(seeds: readonly SeedRecord[]): string {
  const numbers = seeds.map(({ seed }) => seed);
  return `${Math.min(...numbers)} to ${Math.max(...numbers)}`;
}

/** Tests of `test/faults` with records: times that faults cost, and what was checked of the fleets. */
function realPart(real: readonly (RealRecord & { readonly file: string })[]): string {
  const rows = [...new Set(real.map(({ file }) => file))].toSorted().map((file) => {
    const own = real.filter((one) => one.file === file);
    const measured = own
      .filter((one) => one.kind === 'figure')
      .map(({ fault, figures }) => {
        const seconds = Object.entries(figures).map(([name, ms]) => `${name} ${(ms / 1_000).toFixed(1)} s`);
        return `${fault}: ${seconds.join(', ')}`;
      });
    const fleets = own.filter((one) => one.kind === 'fleet');
    const runs = own.filter((one) => one.kind === 'tests');
    const tests = runs.map(({ passed, failed }) => (failed > 0 ? `${passed}, ${failed} failed` : String(passed)));
    const sum = (of: 'tracedSteps' | 'decisions') => String(fleets.reduce((total, one) => total + one[of], 0));
    const broke = fleets.flatMap((one) => one.broke?.split('\n')[0] ?? []);
    const checked = [sum('tracedSteps'), sum('decisions'), broke.join('<br>') || 'nothing'];
    return [file, tests.join('<br>'), measured.join('<br>'), ...checked];
  });
  const head = [
    'test',
    'passed',
    'until all was right, noticed or lost',
    'steps of stores checked',
    'decisions made again',
    'broke',
  ];
  return table(head, rows);
}

function notTried(
  seeds: readonly SeedRecord[],
  real: readonly { readonly file: string }[],
  { kinds, realTests }: ReportAbout,
): string {
  const untried = realTests.filter((test) => !real.some(({ file }) => file === test));
  const lines = (Object.keys(WORLDS) as WorldName[]).map((world) => {
    const happened = new Set(seeds.filter((one) => one.world === world).flatMap((one) => one.happened));
    const missing = kinds[world].filter((kind) => !happened.has(kind));
    return `- ${WORLDS[world]}: ${missing.join(', ') || 'everything that can happen there happened at least once'}.`;
  });
  lines.push(`- Tests on real servers without a record: ${untried.join(', ') || 'none'}.`);
  return lines.join('\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
