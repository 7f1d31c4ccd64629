import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { worldOf } from '../world/worlds';
import { isFault } from './faults';
import { realTests, recordFileOf, recordTests } from './real-tests';
import { type FiledRecord, readRecords, writeRecord } from './record';
import { reportOf } from './report';

const ABOUT = {
  kinds: { fleet: ['build', 'move', 'kill', 'pause'], ring: ['build'], cells: ['build'], racks: ['build'] },
  versions: { Node: 'v24.0.0' },
  mutantCount: 3,
  realTests: ['cuts', 'stalls'],
};

const RECORDS: readonly FiledRecord[] = [
  { file: 'seeds', kind: 'seed', world: 'fleet', seed: 4, happened: ['build', 'kill'], tracedSteps: 10 },
  {
    file: 'seeds',
    kind: 'seed',
    world: 'fleet',
    seed: 5,
    happened: ['build', 'kill'],
    tracedSteps: 5,
    broke: { invariant: 'one host each', message: 'i1 runs twice' },
  },
  { file: 'cuts', kind: 'tests', passed: 3, failed: 1 },
  { file: 'cuts', kind: 'figure', fault: 'broker restarts', figures: { reconnected: 1_500 } },
  { file: 'cuts', kind: 'fleet', tracedSteps: 40, decisions: 7 },
  { file: 'cuts', kind: 'fleet', tracedSteps: 2, decisions: 0, broke: 'a step' },
];

it('counts the histories of each fault beside each workload, and says what was not tried', () => {
  const report = reportOf(RECORDS, ABOUT);
  expect(report).toContain('1 of 2 histories broke an invariant. 15 steps');
  expect(report).toContain('| kill | 2 | 1 of 2, each 2 times or more | 1 | move |');
  expect(report).toContain('| pause | not tried |');
  expect(report).toContain('- fleet, seed 5: *one host each*: i1 runs twice');
  expect(report).toContain('## Nodes shared by a ring\n\nNot tried: there are no records of this world.');
  expect(report).toContain('| cuts | 3, 1 failed | broker restarts: reconnected 1.5 s | 42 | 7 | a step |');
  expect(report).toContain('- Tests on real servers without a record: stalls.');
  expect(report).toContain('- A fleet: move, pause.');
});

it('says that real servers were not tried when no fault test left a record', () => {
  expect(reportOf([], ABOUT)).toContain('Not tried: there are no records of fault tests.');
});

it('reads what was written', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-records-'));
  for (const { file, ...record } of RECORDS) writeRecord(folder, file, record);
  expect(readRecords(folder)).toEqual([...RECORDS.slice(2), ...RECORDS.slice(0, 2)]);
  rmSync(folder, { recursive: true });
});

it('knows the tests on real servers by their paths', () => {
  expect(realTests()).toEqual(expect.arrayContaining(['builds', 'store-power-loss']));
  expect(recordFileOf(resolve('test/fleet/pool.test.ts'))).toBe('fleet-pool');
});

it('knows faults of each world, and workloads', () => {
  for (const world of ['fleet', 'ring', 'cells', 'racks'] as const) {
    const { kinds } = worldOf(world);
    expect(kinds.filter(isFault).length).toBeGreaterThan(10);
    expect(kinds.filter((kind) => !isFault(kind)).length).toBeGreaterThan(5);
  }
});

it('runs each world, records it and writes the report, in quick mode', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-robustness-'));
  const out = join(folder, 'report.md');
  const sources = ['--conditions=berth-source', '--require', './libs/testing/typescript.cjs'];
  const args = ['test/sim/robustness/run.ts', '--quick', '--records', folder, '--out', out];
  execFileSync(process.execPath, [...sources, ...args]);
  expect(readRecords(folder).map((one) => one.kind === 'seed' && one.world)).toEqual([
    'fleet',
    'ring',
    'cells',
    'racks',
  ]);
  expect(readFileSync(out, 'utf8')).toContain('of 4 histories broke an invariant');
  rmSync(folder, { recursive: true });
});

it('records which files of a run broke real servers, and passed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-records-'));
  const files = [
    { path: 'test/faults/store/power-loss.test.ts', passed: 2, failed: 0 },
    { path: 'test/integration/client.test.ts', passed: 9, failed: 0 },
  ];
  recordTests(files, { BERTH_TEST_RECORDS: folder });
  recordTests(files, {});
  expect(readRecords(folder)).toEqual([{ file: 'store-power-loss', kind: 'tests', passed: 2, failed: 0 }]);
  rmSync(folder, { recursive: true });
});
