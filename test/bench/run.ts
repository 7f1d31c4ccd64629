import { parseArgs } from 'node:util';
import { buildStepsBench } from './build-steps/build-steps';
import { buildsBench } from './builds';
import { cellsBench } from './cells/cells';
import { claimsBench } from './claims';
import { guaranteeBench } from './guarantee/guarantee';
import type { Bench, Results } from './harness';
import { latencyBench } from './latency/latency';
import { mirrorBench } from './mirror/mirror';
import { schedulersBench } from './mirror/schedulers';
import { nodesBench } from './nodes/nodes';
import { novaBench } from './nova/nova';
import { packBench } from './packing/pack';
import { pendingBench } from './pending';
import { placementBench } from './placement';
import { rehearseBench } from './rehearse/rehearse';
import { schedulerPerfBench } from './scheduler-perf/scheduler-perf';
import { stalenessBench } from './staleness';

/** Every benchmark; adding one is a line here. */
const BENCHES: readonly Bench[] = [
  buildsBench,
  buildStepsBench,
  cellsBench,
  claimsBench,
  guaranteeBench,
  latencyBench,
  mirrorBench,
  nodesBench,
  novaBench,
  packBench,
  pendingBench,
  placementBench,
  rehearseBench,
  schedulerPerfBench,
  schedulersBench,
  stalenessBench,
];

/** `npm run bench -- NAME [--json] [--flag value ...]`: notes go to stderr, results to stdout. */
async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args: joinValues(args), strict: false, allowPositionals: true });
  const { json, help, ...given } = values;
  const bench = BENCHES.find(({ name }) => name === positionals[0]);
  const unknown = Object.keys(given).filter((name) => bench?.flags[name] === undefined);
  if (bench === undefined || help || unknown.length > 0) {
    for (const name of unknown) process.stderr.write(`unknown flag --${name}\n`);
    process.stderr.write(bench === undefined ? usage() : usageOf(bench));
    return help ? 0 : 2;
  }
  if (!bench.isAlone) for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const flags = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
  const results = await bench.run({ flags, note: (text) => process.stderr.write(`${text}\n`) });
  process.stdout.write(json ? `${JSON.stringify({ bench: bench.name, ...results })}\n` : tableOf(results));
  return 0;
}

function usage(): string {
  const names = BENCHES.map(({ name, purpose }) => [name, purpose] as const);
  return `usage: npm run bench -- NAME [--json] [--flag value ...]\n\n${tableOf(Object.fromEntries(names))}`;
}

function usageOf({ name, purpose, flags }: Bench): string {
  const rows = Object.entries(flags).map(([flag, what]) => [`--${flag}`, what] as const);
  return `usage: npm run bench -- ${name} [--json] [--flag value ...]\n\n${purpose}\n\n${tableOf(Object.fromEntries(rows))}`;
}

/** `--flag value` as `--flag=value`, because the parser does not know which flags take a value. */
function joinValues(args: readonly string[]): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const last = joined.at(-1);
    if (last !== undefined && /^--(?!json$|help$)[^=]+$/.test(last) && !arg.startsWith('--')) {
      joined[joined.length - 1] = `${last}=${arg}`;
    } else joined.push(arg);
  }
  return joined;
}

function tableOf(results: Results): string {
  const width = Math.max(...Object.keys(results).map((name) => name.length));
  return Object.entries(results)
    .map(([name, value]) => `${name.padEnd(width)}  ${value}\n`)
    .join('');
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (thrown: unknown) => {
    process.stderr.write(`${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
    process.exit(1);
  },
);
