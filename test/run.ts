import { environment, systemClock } from '#libs/runtime/system';
import { RUN_BUILT } from '#libs/testing/servers/child';
import { onMaintainedNode } from './maintained-node';
import { filesToTryAgain, isFailed, withSecondTry } from './second-try';
import { recordTests } from './sim/robustness/real-tests';
import { runSimulation } from './simulations';
import { runCheck, runJest, type Step, type StepResult } from './steps';

const DAY_MS = 86_400_000;
/** Chooses the seeds, mutants and tests on servers of a run: the present day, or the day of a run that is to be repeated. */
const day = Number(environment()['BERTH_TEST_DAY'] ?? Math.floor(systemClock().now() / DAY_MS));
const isWhole = process.argv.includes('--all');

/** A share of the mutants runs each day, so that all have run within so many days. */
const MUTANT_PARTS = 6;
/** Likewise of the files of integration and fault tests; CI runs all of them for each change. */
const SERVER_PARTS = 3;
const hasAllServerTests = isWhole || environment()['BERTH_TEST_SERVERS'] === 'all';
const ofToday = hasAllServerTests ? [] : [`--shard=${(day % SERVER_PARTS) + 1}/${SERVER_PARTS}`];
/** Seeds of the day come from a range that the fixed seeds do not reach. */
const FIRST_SEED_BY_DATE = 100_000;

/** Operations on hosts, and preemption, in every one of some more seeds. */
const DRAINS = 'drain a host,undrain a host,delete a host,delete dead hosts,move together';
const LOSSES = 'store loses its last second,older copy of builds,store forgets a move';
const FORGOTTEN_BY_THE_DEAD = 'evacuate a dead host,store forgets an operation';
const MAKING_ROOM = 'tenants lend each other,several make room,build that preempts';
const OTHER_MOVES = 'conductors stop while the store is away,pause,break connection';
const MOVES_AND_THE_DEAD = 'move,decide on a move,kill,evacuate a dead host,drain a host,build beside a move';

/** Seeds that once broke an invariant, by world: see `test/sim/README.md`. */
const FAILED_SEEDS = {
  fleet: [
    20, 36, 46, 103, 138, 550, 883, 985, 1022, 1239, 1277, 1605, 2498, 3067, 3391, 3683, 4289, 4872, 5591, 5786, 50023,
    50161, 100238, 100282, 100416, 101179, 102046, 102504, 102597, 103393, 200129, 200424, 300164, 300616, 400141,
    501361, 501962, 700103, 800385, 970160, 970345, 970644, 970781, 971179, 971182, 2000248,
  ],
  ring: [63, 1089, 1138, 1597, 2505, 2574, 2644, 3041, 3060, 3119, 3386, 3592, 103132, 103188, 500139, 501008],
  cells: [1063, 1220, 102157, 200088, 2000140],
  racks: [2, 12, 13, 16, 26, 38, 40, 52, 63, 67, 83, 94, 95],
};

/** And those that broke one with a focus. */
const FAILED_DRAINS = [12, 76, 78, 86];
const FAILED_MOVES = [9, 11, 39, 63, 99, 104, 146];

/** Tests that need root, or more of the machine than others do; `test:all` runs them unless they are turned off. */
const COSTLY_TESTS = {
  BERTH_TEST_DOCKER: 'the docker driver',
  BERTH_TEST_NOVA: 'a whole Nova with Keystone',
  BERTH_TEST_POWER_LOSS: 'the store on a machine that loses power',
  BERTH_TEST_UPGRADE: 'a rolling upgrade',
};

const settings = Object.fromEntries(
  Object.keys(COSTLY_TESTS).map((setting) => [setting, environment()[setting] ?? (isWhole ? 'on' : 'off')]),
);
const env = { ...settings, [RUN_BUILT]: 'on' };

/** Workers of jest; by itself it takes one on two processors. */
const ON_TWO = '--maxWorkers=2';
/** One more, since tests of real servers wait most of the time; those of faults are in time for their deadlines with fewer. */
const ON_THREE = '--maxWorkers=3';
/** The server lane should not wait for a processor: the others give way to it. */
const GIVES_WAY = 5;
/** Checks and simulations never wait for anything: they take what the tests leave. */
const TAKES_THE_REST = 15;

/** Tests that need no server. Some wait all the same, for a process or a clock. */
const TEST_LANE: readonly Step[] = [
  jest('structure', ON_TWO),
  jest('unit', ON_TWO),
  jest('contract', ON_TWO),
  jest('simulation', ON_TWO),
];

/** Checks and simulations. `npm run build`, which comes first, has checked the types of all but pages. */
const PROCESSOR_LANE: readonly Step[] = [
  check('proto lint', 'buf', 'lint', 'proto'),
  check('proto breaking', 'buf', 'breaking', 'proto', '--against', 'proto/released.binpb'),
  check('lint', 'oxlint', '--type-aware', 'libs', 'services', 'test'),
  check('format', 'biome', 'check', '.'),
  check('types of pages', 'tsc', '--noEmit', '-p', 'services/console/web'),
  ...seeds('fleet', isWhole ? 200 : 60, 20),
  sim('seeds of drains', '--seeds', isWhole ? '40' : '10', '--focus', DRAINS),
  sim('drains, once failed', '--seed', FAILED_DRAINS.join(','), '--focus', DRAINS),
  sim('moves, once failed', '--seed', FAILED_MOVES.join(','), '--focus', MOVES_AND_THE_DEAD),
  sim('seeds of preemption', '--seeds', isWhole ? '40' : '10', '--focus', MAKING_ROOM),
  sim('losses, once failed', '--seed', '12,61,148,348,390', '--focus', LOSSES),
  sim('forgotten by the dead, once failed', '--seed', '280,291', '--focus', FORGOTTEN_BY_THE_DEAD),
  sim('forgotten moves, once failed', '--seed', '26', '--focus', 'store goes back,move'),
  sim('forgotten drains, once failed', '--seed', '43,89', '--focus', 'drain a host,store loses its last second'),
  sim('late builds, once failed', '--seed', '56', '--focus', 'build that preempts,kill,pause'),
  sim('parted groups, once failed', '--seed', '84', '--focus', `replace machine,${FORGOTTEN_BY_THE_DEAD}`),
  sim('reverts in place, once failed', '--seed', '500054', '--focus', 'build that waits,machine shrinks'),
  sim('returns, once failed', '--seed', '2,7,37', '--focus', 'return is evacuated'),
  sim('late ends, once failed', '--seed', '46', '--focus', 'evacuate a dead host,agent stays away'),
  sim('other moves, once failed', '--seed', '2000511', '--focus', OTHER_MOVES),
  sim('late orders, once failed', '--seed', '2000668', '--focus', 'build in a zone,begin a group over racks,start'),
  sim('forgotten requests, once failed', '--seed', '26,68', '--focus', 'source loses its copy,store goes back'),
  ...seeds('ring', isWhole ? 60 : 20, 6),
  ...seeds('cells', isWhole ? 40 : 10, 4),
  ...seeds('racks', isWhole ? 60 : 20, 6),
  isWhole ? sim('mutants', '--mutants') : sim('mutants of today', '--mutants', '--part', `${day}/${MUTANT_PARTS}`),
  sim('mutants by the trace alone', '--mutants', '--trace'),
  sim('small scope', '--small'),
];

/** Tests of real servers, which wait more than they compute. Whatever a fault stops is of its own file. */
const SERVER_LANE: readonly Step[] = [
  jest('browser', '--runInBand'),
  jest('integration', ON_THREE, ...ofToday),
  jest('fault', ON_TWO, ...ofToday),
  ...(isWhole ? [jest('fleet', '--runInBand')] : []),
];

function check(name: string, bin: string, ...args: readonly string[]): Step {
  return { name, run: (niceness) => runCheck(name, bin, args, { env, niceness }) };
}

function sim(name: string, ...args: readonly string[]): Step {
  return { name, run: (niceness) => runSimulation(name, args, niceness) };
}

function jest(project: string, ...args: readonly string[]): Step {
  return { name: project, run: (niceness) => runProject(project, args, niceness) };
}

function runProject(project: string, args: readonly string[], niceness: number): Promise<StepResult> {
  const onFile = (file: string) => print(`     ${file}`);
  return runJest(project, ['--selectProjects', project, ...args], { env, niceness }, onFile);
}

function seeds(world: keyof typeof FAILED_SEEDS, fixedCount: number, countByDate: number): readonly Step[] {
  const ofWorld = ['--world', world];
  const first = FIRST_SEED_BY_DATE + day * countByDate;
  return [
    sim(`seeds of ${world}`, ...ofWorld, '--seeds', String(fixedCount)),
    sim(`${world}, by date`, ...ofWorld, '--seeds', String(countByDate), '--first', String(first)),
    sim(`${world}, once failed`, ...ofWorld, '--seed', FAILED_SEEDS[world].join(',')),
  ];
}

/** Runs each step of a lane after the other, also after a failure. */
async function runLane(steps: readonly Step[], niceness: number): Promise<readonly StepResult[]> {
  const results: StepResult[] = [];
  for (const step of steps) {
    const result = await step.run(niceness);
    results.push(result);
    print(line(result));
    if (result.failed > 0 || result.skipped > 0) print(`\n${result.output}`);
  }
  return results;
}

/**
 * Runs files that failed once more, alone: on a busy machine a server or a process may be too slow. A file that passes only then is
 * named with its first failure, since it is a defect all the same. Seeds and mutants have one try.
 */
async function tryAgain(results: readonly StepResult[]): Promise<readonly StepResult[]> {
  const files = filesToTryAgain(results);
  const tried: StepResult[] = [];
  for (const first of results) {
    const paths = first.files.filter((file) => files.includes(file)).map(({ path }) => path);
    const again = paths.length > 0 ? await runProject(first.name, ['--runInBand', ...paths], 0) : undefined;
    tried.push(again === undefined ? first : withSecondTry(first, again));
  }
  return tried;
}

/**
 * `npm test`, and with `--all` `npm run test:all`: all lanes at once, a second try of files that failed, then a table of the
 * steps, the slowest files, the failures, and the line `N passed, N failed`.
 */
async function main(): Promise<number> {
  const code = await onMaintainedNode(print);
  if (code !== undefined) return code;
  const startedMs = performance.now();
  const lanes = [runLane(PROCESSOR_LANE, TAKES_THE_REST), runLane(TEST_LANE, GIVES_WAY), runLane(SERVER_LANE, 0)];
  const firsts = (await Promise.all(lanes)).flat();
  const results = await tryAgain(firsts);
  recordTests(results.flatMap(({ files }) => files));
  const sum = (key: 'passed' | 'failed' | 'skipped') => results.reduce((all, r) => all + r[key], 0);
  print(`\n${HEAD}\n${results.map(line).join('\n')}`);
  print(`\nslowest files\n${slowestFiles(results).join('\n')}`);
  printFailures(firsts, results);
  if (sum('skipped') > 0) print(`\n${sum('skipped')} skipped: each counts as a failure`);
  for (const [setting, tests] of Object.entries(COSTLY_TESTS)) {
    if (settings[setting] === 'off') print(`left out: ${tests} (${setting}=off; npm run test:all has it)`);
  }
  if (!isWhole) print('left out: the fleet, and mutants of other days (npm run test:all has them)');
  if (!hasAllServerTests)
    print('left out: integration and fault tests of other days (BERTH_TEST_SERVERS=all npm test has them)');
  print(`day ${day}: BERTH_TEST_DAY=${day} repeats its choice`);
  const failed = sum('failed') + sum('skipped');
  print(`${Math.round((performance.now() - startedMs) / 1000)} s in all`);
  print(`${sum('passed')} passed, ${failed} failed`);
  return failed === 0 && sum('passed') > 0 ? 0 : 1;
}

const SLOWEST_COUNT = 20;

function slowestFiles(results: readonly StepResult[]): readonly string[] {
  const files = results.flatMap(({ files: ofStep }) => ofStep).toSorted((a, b) => b.seconds - a.seconds);
  return files.slice(0, SLOWEST_COUNT).map(({ path, seconds }) => `${seconds.toFixed(1).padStart(8)} s  ${path}`);
}

/** Enough of a failure to see what was expected; the whole of it stands where the step ended. */
const FAILURE_LINES = 30;

function printFailures(firsts: readonly StepResult[], lasts: readonly StepResult[]): void {
  const failed = new Set(lasts.flatMap(({ files }) => files.filter(isFailed)).map(({ path }) => path));
  for (const { path, failure } of firsts.flatMap(({ files }) => files.filter(isFailed))) {
    const text = failure.trim().split('\n').slice(0, FAILURE_LINES).join('\n');
    print(`\n${failed.has(path) ? '✗' : 'failed once, and passed alone:'} ${path}\n${text}`);
  }
  for (const { name, output } of lasts.filter(({ failed: count, files }) => count > 0 && !files.some(isFailed))) {
    print(`\n✗ ${name}\n${output.trim().split('\n').slice(-FAILURE_LINES).join('\n')}`);
  }
}

const HEAD = `   ${'step'.padEnd(20)}${'passed'.padStart(8)}${'failed'.padStart(8)}${'skipped'.padStart(9)}${'time'.padStart(9)}`;

function line(r: StepResult): string {
  const counts = `${String(r.passed).padStart(8)}${String(r.failed).padStart(8)}${String(r.skipped).padStart(9)}`;
  return `${r.failed + r.skipped > 0 ? '✗' : '✓'}  ${r.name.padEnd(20)}${counts}${`${r.seconds.toFixed(1)} s`.padStart(9)}`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

main().then(
  (code) => process.exit(code),
  (thrown: unknown) => {
    print(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));
    process.exit(1);
  },
);
