import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { MUTANTS } from '../mutants/registry';
import type { WorldName } from '../world/run';
import { runSeed, worldOf } from '../world/worlds';
import { realTests } from './real-tests';
import { readRecords, writeRecord } from './record';
import { type ReportAbout, reportOf } from './report';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '40' },
    first: { type: 'string', default: '1' },
    quick: { type: 'boolean', default: false },
    records: { type: 'string', default: 'test/sim/robustness/records' },
    out: { type: 'string', default: 'services/console/docs/robustness.md' },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run robustness -- [options]
  --seeds N      runs so many seeds of each world (40), from --first (1) on, and records them; 0: only what is recorded
  --quick        one short run of each world
  --records DIR  folder of the records, with those of fault tests (BERTH_TEST_RECORDS=DIR)
  --out FILE     the report (services/console/docs/robustness.md, which npm run build:docs makes a page of)`;

const WORLDS: readonly WorldName[] = ['fleet', 'ring', 'cells', 'racks'];
const [ACTIONS, QUICK_ACTIONS] = [40, 5];

/** `npm run robustness`: runs and records seeds, and writes the report of all records. */
async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(`${HELP}\n`);
    return;
  }
  const count = values.quick ? 1 : Number(values.seeds);
  for (const world of WORLDS) for (let n = 0; n < count; n++) await record(world, Number(values.first) + n);
  const kinds = Object.fromEntries(WORLDS.map((world) => [world, worldOf(world).kinds])) as ReportAbout['kinds'];
  const about = { kinds, versions: versions(), mutantCount: MUTANTS.length, realTests: realTests() };
  writeFileSync(values.out, reportOf(readRecords(values.records), about));
  process.stdout.write(`${values.out}\n`);
}

async function record(world: WorldName, seed: number): Promise<void> {
  const options = { world, seed, actionCount: values.quick ? QUICK_ACTIONS : ACTIONS };
  const { plan, traced, violation } = await runSeed(options);
  const happened = [...new Set(plan.map(({ kind }) => kind))];
  const tracedSteps = [...traced.values()].reduce((sum, steps) => sum + steps, 0);
  const broke = violation && { invariant: violation.invariant, message: violation.message };
  writeRecord(values.records, 'seeds', { kind: 'seed', world, seed, happened, tracedSteps, broke });
}

function versions(): Record<string, string> {
  return {
    Node: process.version,
    RabbitMQ: versionOf('rabbitmqctl', 'version'),
    Redis: versionOf('redis-server', '--version'),
  };
}

function versionOf(program: string, ...args: readonly string[]): string {
  try {
    const text = execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return /\d+\.\d+(\.\d+)?/.exec(text)?.[0] ?? 'unknown';
  } catch {
    return 'not installed';
  }
}

main().catch((thrown: unknown) => {
  process.stderr.write(`${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
  process.exit(1);
});
