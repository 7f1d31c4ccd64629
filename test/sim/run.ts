import { parseArgs } from 'node:util';
import { explainFailure, shrinkFailure } from './report';
import { type RunOptions, runSeed } from './run-seed';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    first: { type: 'string', default: '1' },
    seed: { type: 'string' },
    steps: { type: 'string', default: '40' },
    keep: { type: 'string' },
    brief: { type: 'boolean', default: false },
  },
});

/** `npm run sim`: runs seeds until one breaks an invariant, or all. */
async function main(): Promise<number> {
  const actionCount = Number(values.steps);
  const kept = values.keep
    ?.split(',')
    .filter((part) => part !== '')
    .map(Number);
  const first = Number(values.seed ?? values.first);
  const count = values.seed === undefined ? Number(values.seeds) : 1;
  const startedMs = performance.now();
  let failed = 0;
  let stepCount = 0;
  for (let seed = first; seed < first + count; seed++) {
    const options: RunOptions = { seed, actionCount, kept };
    const result = await runSeed(options);
    stepCount += result.stepCount;
    if (values.seed !== undefined) print(`seed ${seed}: ${result.stepCount} steps, history ${result.digest}`);
    if (result.violation === undefined) continue;
    failed++;
    if (values.brief) print(`seed ${seed}: ${result.violation.invariant}: ${result.violation.message}`);
    else print(explainFailure(await shrinkFailure(options, result.violation.invariant)));
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const rate = `${(count / seconds).toFixed(1)} seeds/s, ${Math.round(stepCount / seconds)} steps/s`;
  print(`${count} seeds, ${failed} broke an invariant, ${stepCount} steps, ${seconds.toFixed(1)} s, ${rate}`);
  return failed === 0 ? 0 : 1;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.on('unhandledRejection', (thrown) => {
  process.stderr.write(`a rejection that nobody handles: ${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
  process.exit(2);
});
main().then(
  (code) => process.exit(code),
  (thrown: unknown) => {
    process.stderr.write(`${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
    process.exit(2);
  },
);
