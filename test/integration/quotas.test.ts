import { randomUUID } from 'node:crypto';
import { inventory } from '#libs/domain/inventory';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { contentsOf, mustCommit } from '#libs/testing/placement/placement';
import { violationsOf } from '#libs/testing/placement/placement-invariants';
import { runLine } from '../../services/cli/testing/run-line';
import { consumerBody } from '../../services/placement-api/testing/state';
import { eventually, TestCell } from './test-cell';

/* Two schedulers and two placement APIs that never exceed a quota together, and the commands of operators. */

const PROJECT = 'demo';
const SPEC = aRequestSpec({ projectId: PROJECT, resources: { VCPU: 1 } });

let cell: TestCell;
let provider: string;
beforeAll(async () => {
  cell = await TestCell.start();
  provider = await cell.reportHost('host-1', { VCPU: inventory(1_000) });
});
afterAll(() => cell.stop());

const berth = (line: string) => runLine(line, cell.commandEnv);

async function shown(line: string): Promise<unknown> {
  const { code, out, err } = await berth(`${line} --json`);
  if (code !== 0) throw new Error(`${line}: ${err}`);
  return JSON.parse(out);
}

const used = async () => ((await shown(`quota show --project ${PROJECT}`)) as { used: object }).used;

it('sets, shows and lists limits', async () => {
  const set = await berth(`quota set --project ${PROJECT} --limit VCPU=10 --limit instances=20 --cohort lab`);
  expect([set.code, set.err]).toEqual([0, '']);
  await berth('quota set --default --limit instances=100');
  expect(await shown(`quota show --project ${PROJECT}`)).toMatchObject({
    limits: { VCPU: 10, instances: 20 },
    cohort: 'lab',
    defaultLimits: { instances: 100 },
  });
  const { out } = await berth('quota list');
  expect(out).toMatch(/demo\s+lab\s+VCPU\s+0\s+10\s+project/);
  expect(out).toMatch(/\(default\)\s+-\s+instances\s+100/);
  expect((await berth('quota set --project demo')).code).toBe(2);
  expect((await berth('quota set --limit VCPU=1')).code).toBe(2);
  expect((await berth('quota set --project demo --limit vcpus=1')).code).toBe(2);
  await berth(`quota set --project ${PROJECT} --no-cohort`);
});

it('gives ten VCPU to ten of many claimants at once, through two schedulers and two APIs', async () => {
  for (let round = 0; round < 5; round++) {
    const claims = Array.from({ length: 32 }, (_, n) => (n % 2 === 0 ? throughScheduler() : throughApi((n - 1) / 2)));
    const outcomes = await Promise.all(claims);
    expect(outcomes.filter((outcome) => outcome === 'claimed')).toHaveLength(10);
    expect(new Set(outcomes)).toEqual(new Set(['claimed', 'quota_exceeded']));
    const contents = await contentsOf(cell.store);
    expect(violationsOf(contents)).toEqual([]);
    expect(contents.consumers).toHaveLength(10);
    const consumers = contents.consumers.map((one) => ({ ...one, allocations: {}, expect: { kind: 'any' } as const }));
    await mustCommit(cell.store, { kind: 'write_allocations', consumers });
  }
});

it('tells what a project held on each day', async () => {
  // Its mirror may still show what was just given back.
  await eventually('one is claimed', async () => (await throughScheduler()) === 'claimed');
  const usage = async () =>
    (await shown('usage --since 1d')) as { projectId: string; days: { unitSeconds: object }[] }[];
  await eventually('a second is counted', async () => {
    const [demo] = (await usage()).filter(({ projectId }) => projectId === PROJECT);
    const today = demo?.days.at(-1)?.unitSeconds as Record<string, number> | undefined;
    return (today?.['VCPU'] ?? 0) >= 1 && (today?.['instances'] ?? 0) >= 1;
  });
  expect((await berth(`usage --since 2020-01-01 --project ${PROJECT}`)).out).toMatch(/PROJECT\s+DAY\s+.*VCPU s/);
  expect((await berth('usage --since never')).code).toBe(2);
  expect(await used()).toMatchObject({ VCPU: 1 });
});

it('takes limits away again', async () => {
  expect(await shown(`quota unset --project ${PROJECT} VCPU`)).toMatchObject({ limits: { instances: 20 } });
  expect((await berth(`quota unset --project ${PROJECT}`)).out).toMatch(/VCPU\s+1\s+none/);
});

async function throughScheduler(): Promise<string> {
  const { destinations, noValidHost } = await cell.select(randomUUID(), SPEC);
  if (destinations.length > 0) return 'claimed';
  return noValidHost?.filters.flatMap((filter) => Object.keys(filter.reasons)).join() ?? '';
}

async function throughApi(n: number): Promise<string> {
  const body = consumerBody({ [provider]: { VCPU: 1 } }, { project_id: PROJECT });
  const headers = { 'berth-enforce-quotas': 'true' };
  const { status, text } = await cell.api(n).put(`/allocations/${randomUUID()}`, body, { headers });
  if (status === 204) return 'claimed';
  return status === 403 && text.includes('Quota exceeded') ? 'quota_exceeded' : `${status} ${text}`;
}
