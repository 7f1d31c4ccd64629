import { environment } from '#libs/runtime/system';
import { onMaintainedNode } from './maintained-node';
import { runCheck, runJest, type StepResult } from './steps';

/** What operators do to hosts, and what makes room, in every one of some seeds more. */
const DRAINS = 'drain a host,undrain a host,delete a host,delete dead hosts,move together';
const MAKING_ROOM = 'tenants lend each other,several make room,build that preempts';

/**
 * `npm test`: every check and every test, one step after the other, also after a failure. Ends with a table and the line
 * `N passed, N failed`.
 */
const STEPS: readonly (() => Promise<StepResult>)[] = [
  () => runCheck('proto lint', 'buf', ['lint', 'proto']),
  () => runCheck('proto breaking', 'buf', ['breaking', 'proto', '--against', 'proto/released.binpb']),
  () => runCheck('lint', 'oxlint', ['--type-aware', 'libs', 'services', 'test']),
  () => runCheck('format', 'biome', ['check', '.']),
  () => runCheck('types', 'tsc', ['--noEmit', '-p', '.']),
  () => runCheck('types of pages', 'tsc', ['--noEmit', '-p', 'services/console/web']),
  () => jest('structure'),
  () => jest('unit'),
  () => jest('contract'),
  () => jest('simulation'),
  () => runCheck('seeds', 'node', ['dist/test/sim/run.js', '--seeds', '200']),
  () => runCheck('seeds of drains', 'node', ['dist/test/sim/run.js', '--seeds', '40', '--focus', DRAINS]),
  () => runCheck('seeds of preemption', 'node', ['dist/test/sim/run.js', '--seeds', '40', '--focus', MAKING_ROOM]),
  () => runCheck('seeds of the ring', 'node', ['dist/test/sim/run.js', '--world', 'ring', '--seeds', '60']),
  () => runCheck('seeds of cells', 'node', ['dist/test/sim/run.js', '--world', 'cells', '--seeds', '40']),
  () => runCheck('mutants', 'node', ['dist/test/sim/run.js', '--mutants']),
  () => runCheck('small scope', 'node', ['dist/test/sim/run.js', '--small']),
  () => jest('browser', '--runInBand'),
  () => jest('integration', '--runInBand'),
  // In band, because they kill servers.
  () => jest('fault', '--runInBand'),
  () => jest('fleet', '--runInBand'),
];

function jest(project: string, ...args: string[]): Promise<StepResult> {
  return runJest(project, ['--selectProjects', project, ...args], (file) => print(`     ${file}`));
}

async function main(): Promise<number> {
  const code = await onMaintainedNode(print);
  if (code !== undefined) return code;
  const results: StepResult[] = [];
  for (const step of STEPS) {
    const result = await step();
    results.push(result);
    print(line(result));
    if (result.failed > 0 || result.skipped > 0) print(`\n${result.output}`);
  }
  const sum = (key: 'passed' | 'failed' | 'skipped' | 'seconds') => results.reduce((all, r) => all + r[key], 0);
  print(`\n${HEAD}\n${results.map(line).join('\n')}`);
  if (sum('skipped') > 0) print(`\n${sum('skipped')} skipped: each counts as a failure`);
  for (const [setting, tests] of Object.entries(MAY_BE_OFF)) {
    if (environment()[setting] === 'off') print(`\nleft out: ${tests} (${setting}=off)`);
  }
  const failed = sum('failed') + sum('skipped');
  print(`${Math.round(sum('seconds'))} s in all`);
  print(`${sum('passed')} passed, ${failed} failed`);
  return failed === 0 && sum('passed') > 0 ? 0 : 1;
}

/** Tests that need root, and more of the machine than other tests do. */
const MAY_BE_OFF = {
  BERTH_TEST_DOCKER: 'the docker driver',
  BERTH_TEST_POWER_LOSS: 'the store on a machine that loses power',
};

const HEAD = `   ${'step'.padEnd(16)}${'passed'.padStart(8)}${'failed'.padStart(8)}${'skipped'.padStart(9)}${'time'.padStart(9)}`;

function line(r: StepResult): string {
  const counts = `${String(r.passed).padStart(8)}${String(r.failed).padStart(8)}${String(r.skipped).padStart(9)}`;
  return `${r.failed + r.skipped > 0 ? '✗' : '✓'}  ${r.name.padEnd(16)}${counts}${`${r.seconds.toFixed(1)} s`.padStart(9)}`;
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
