import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { CAUGHT_BY_TRACE, MUTANTS, mutantOf } from '../mutants/registry';
import type { HuntJob, SeedJob } from '../parallel/job';
import { runJobs } from '../parallel/run-jobs';
import { explainFailure, shrinkFailure } from '../report';
import { tableLine } from '../run-mutants';
import { FAULTS } from '../small-scope/one-instance';
import { runSmallScope } from '../small-scope/run';
import type { RunOptions, Violation, WorldName } from '../world/run';
import { requireKinds, worldOf } from '../world/worlds';

const OPTIONS = {
  options: {
    world: { type: 'string' },
    seeds: { type: 'string' },
    first: { type: 'string', default: '1' },
    seed: { type: 'string' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    steps: { type: 'string', default: '40' },
    keep: { type: 'string' },
    focus: { type: 'string' },
    mutant: { type: 'string' },
    mutants: { type: 'boolean', default: false },
    part: { type: 'string', default: '0/1' },
    trace: { type: 'boolean', default: false },
    small: { type: 'boolean', default: false },
    fault: { type: 'string' },
    large: { type: 'boolean', default: false },
    brief: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
} as const;

type Values = ReturnType<typeof parseArgs<typeof OPTIONS>>['values'];

/** Prints a line. */
type Print = (text: string) => void;

const HELP = `npm run sim -- [options]
  --world NAME    of the fleet (the default), of nodes shared by a ring, of cells and their top, of hosts in racks:
                  fleet, ring, cells, racks
  --seeds N       runs so many seeds (100), from --first (1) on
  --seed N,M      runs these seeds and prints the digests of their histories
  --jobs N        in so many threads (one for each processor)
  --steps N       so many things happen to the fleet in a run (40)
  --keep 3,8,21   of these, only those: what is left of a shrunk failure
  --focus A,B     with these kinds of what happens, and fewer others: names as in the plan of the world
  --mutant NAME   with one thing taken out of Berth
  --mutants       each mutant in turn, until a seed catches it; --part K/N: one in N of them, from the Kth on (modulo N)
  --mutants --trace  those that the model of the protocol catches alone
  --small         every state of one instance on two hosts, with one fault; --fault NAME for one kind only;
                  with a failed build or a terminate besides; --large: also where that takes long
  --brief         failures in one line, not shrunk
  --json          one line of JSON at the end`;

/** Progress of a long run is printed this often. */
const SEEDS_TO_TELL = 500;

/** Runs seeds, mutants or the small scope by a command line; resolves to 1 when an invariant broke, or a mutant broke none. */
export async function runCommand(args: readonly string[], print: Print): Promise<number> {
  const { values } = parseArgs({ ...OPTIONS, args: [...args] });
  if (values.help) {
    print(HELP);
    return 0;
  }
  let exitCode = 0;
  const isElse = values.mutants || values.small;
  if (values.seeds !== undefined || values.seed !== undefined || !isElse) exitCode += await runSeeds(values, print);
  if (values.mutants) exitCode += await runMutants(values, print);
  if (values.small) {
    const faults = FAULTS.filter((fault) => fault === (values.fault ?? fault));
    exitCode += await runSmallScope(faults, values.large, Number(values.jobs), print);
  }
  return Math.min(1, exitCode);
}

async function runSeeds(values: Values, print: Print): Promise<number> {
  const actionCount = Number(values.steps);
  const mutant = values.mutants ? undefined : values.mutant;
  const of = mutant === undefined ? undefined : mutantOf(mutant);
  const world = (values.world ?? of?.world) as WorldName | undefined;
  worldOf(world);
  const focus = values.focus === undefined ? of?.focus : requireKinds(world, values.focus.split(','));
  const kept = values.keep?.split(',').filter(Boolean).map(Number);
  const range = Array.from({ length: Number(values.seeds ?? 100) }, (_, n) => Number(values.first) + n);
  const seeds = values.seed?.split(',').map(Number) ?? range;
  const count = seeds.length;
  const jobs = seeds.map((seed): SeedJob => {
    return {
      kind: 'seed',
      options: { world, seed, actionCount, kept, focus },
      mutant,
      isDigested: values.seed !== undefined,
    };
  });
  const startedMs = performance.now();
  let [done, failed, stepCount] = [0, 0, 0];
  for await (const outcome of runJobs(jobs, Number(values.jobs))) {
    const { options, violation, digest } = outcome;
    stepCount += outcome.stepCount;
    if (++done % SEEDS_TO_TELL === 0) process.stderr.write(`${done} of ${count} seeds\n`);
    if (values.seed !== undefined) print(`seed ${options.seed}: ${stepCount} steps, history ${digest}`);
    if (violation === undefined) continue;
    failed++;
    if (values.brief) print(`seed ${options.seed}: ${violation.invariant}: ${violation.message}`);
    else print(await explain(options, violation, mutant));
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const rates = { seedsPerSecond: count / seconds, stepsPerSecond: stepCount / seconds };
  if (values.json) print(JSON.stringify({ seeds: count, failed, stepCount, seconds, ...rates }));
  const rate = `${rates.seedsPerSecond.toFixed(1)} seeds/s, ${Math.round(rates.stepsPerSecond)} steps/s`;
  print(`${count} seeds, ${failed} broke an invariant, ${stepCount} steps, ${seconds.toFixed(1)} s, ${rate}`);
  return failed;
}

async function explain(options: RunOptions, violation: Violation, mutant?: string): Promise<string> {
  const putBack = mutant === undefined ? () => {} : mutantOf(mutant).apply();
  const text = explainFailure(await shrinkFailure(options, violation), mutant);
  putBack();
  return text;
}

async function runMutants(values: Values, print: Print): Promise<number> {
  const actionCount = Number(values.steps);
  const ofWorld = MUTANTS.filter(({ world = 'fleet' }) => values.world === undefined || world === values.world);
  const [part = 0, partCount = 1] = values.part.split('/').map(Number);
  const isOfPart = (_: unknown, n: number) => n % partCount === part % partCount;
  const isByTrace = values.trace;
  const all = isByTrace ? ofWorld.filter(({ name }) => CAUGHT_BY_TRACE.includes(name)) : ofWorld;
  const mutants = values.mutant === undefined ? all.filter(isOfPart) : [mutantOf(values.mutant)];
  const hunts = mutants.map(({ name }): HuntJob => ({ kind: 'hunt', mutant: name, actionCount, isByTrace }));
  let missed = 0;
  for await (const caught of runJobs(hunts, Number(values.jobs))) {
    if (caught.by === undefined) missed++;
    print(tableLine(caught));
  }
  const others = all.filter((one) => !mutants.includes(one)).map(({ name }) => name);
  if (others.length > 0) print(`  not in this part: ${others.join(', ')}`);
  print(`${mutants.length} of ${all.length} mutants, ${missed} not caught`);
  return missed;
}
