import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import type { InstanceView } from '#libs/contracts/instance';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { runLine } from '../../../services/cli/testing/run-line';
import { type OwnVirtualHost, ownVirtualHost } from '../../shared-servers';
import { eventually } from '../test-cell';

/* A rack is emptied by the command line, which is killed on the way. */

const LIMIT = { timeoutMs: 60_000 };
const SPEC = { projectId: 'demo', userId: 'me', resources: { VCPU: 1, MEMORY_MB: 64 } };
const RACKS = { r1: ['h-1', 'h-2'], r2: ['h-3', 'h-4'] } as const;

let credentials: DeployedCredentials;
let broker: OwnVirtualHost;
let redis: TestServer;
let operator: Client;
const children: Child[] = [];

beforeAll(async () => {
  credentials = deployedCredentials(['service-host.h']);
  [broker, redis] = await Promise.all([ownVirtualHost(credentials), startRedis()]);
  const agent = {
    BERTH_AGENT_HOST: 'h',
    BERTH_AGENT_HOSTS: '4',
    BERTH_AGENT_INVENTORY: 'VCPU=8,MEMORY_MB=16384',
    BERTH_AGENT_FAKE_COPY_MS: '1500',
  };
  for (const [service, user, more] of [
    ['scheduler', 'scheduler', {}],
    ['conductor', 'conductor', {}],
    ['compute-agent', 'service-host.h', agent],
  ] as const) {
    const store = service === 'compute-agent' ? {} : { BERTH_STORE_URL: redis.url };
    const env = { BERTH_BUS_URL: credentials.brokerUrl(user, broker.port), ...store, ...more };
    const child = startChild('services/cli/main.ts', [service], env);
    children.push(child);
    await child.says('"msg":"running"');
  }
  operator = await connect({ url: credentials.brokerUrl('operator', broker.port) });
});
afterAll(async () => {
  await operator?.close();
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all([broker?.stop(), redis?.stop()]);
  credentials?.remove();
});

const env = () => ({ BERTH_BUS_URL: credentials.brokerUrl('operator', broker.port), BERTH_CLIENT_TIMEOUT_MS: '30000' });

async function berth(line: string): Promise<string> {
  const { code, out, err } = await runLine(line, env());
  expect({ code, err: code === 0 ? '' : out + err }).toEqual({ code: 0, err: '' });
  return out + err;
}

const hostsOf = (all: readonly InstanceView[]) => [...new Set(all.map(({ host }) => host))].sort();
const isWaiting = ({ migration }: InstanceView) => migration?.phase === 'claimed';

/** The instances once nothing is in progress. */
async function allAtRest(): Promise<readonly InstanceView[]> {
  const isAtRest = ({ state, migration }: InstanceView) => state === 'active' && migration === undefined;
  await eventually('nothing is under way', async () => (await operator.instances()).every(isAtRest), LIMIT.timeoutMs);
  return operator.instances();
}

/** Begins a command of its own, and kills it while the first move runs and the next still waits. */
async function killedOnTheWay(line: string): Promise<void> {
  const child = startChild('services/cli/main.ts', line.split(' '), env());
  const isOnTheWay = async () => {
    const all = await operator.instances();
    if (child.process.exitCode !== null) throw new Error(`it has ended: ${child.stdout()}${child.stderr()}`);
    return all.some(isWaiting) && !all.every(isWaiting);
  };
  await eventually('its moves are claimed, and one is begun', isOnTheWay, LIMIT.timeoutMs);
  child.process.kill('SIGKILL');
  await child.exit;
}

it('empties a rack as its groups allow, goes on after it was killed, and gives back what it had claimed', async () => {
  for (const [rack, hosts] of Object.entries(RACKS)) {
    await berth(`aggregate create ${rack} --property rack=${rack}`);
    for (const host of hosts) await berth(`aggregate add-host ${rack} ${host}`);
  }
  const group = { id: 'web', policy: 'anti-affinity', maxPerHost: 1 } as const;
  for (const host of RACKS.r2) await operator.setHostEnabled(host, false);
  for (const _ of RACKS.r1) await operator.buildAndWait({ spec: { ...SPEC, group } }, LIMIT);
  for (const host of RACKS.r2) await operator.setHostEnabled(host, true);
  expect(hostsOf(await operator.instances())).toEqual(RACKS.r1);

  expect(await berth('rebalance --plan --empty-rack r1')).toMatch(/h-1 +h-[34]/);
  await killedOnTheWay('rebalance --apply --empty-rack r1 --parallel 1');
  expect(await berth('rebalance --apply --empty-rack r1')).toMatch(/going on with 1 move /);
  expect(hostsOf(await allAtRest())).toEqual(RACKS.r2);

  const before = await operator.instances();
  await killedOnTheWay('rebalance --apply --empty h-3 --empty h-4 --parallel 1');
  // Another goal is another plan, whoever has it; the user must name the plan.
  expect(await berth('rebalance --undo --even-out')).toContain('nothing was moved');
  expect((await operator.instances()).filter(isWaiting)).toHaveLength(1);
  const unnamed = await runLine('rebalance --undo', env());
  expect(unnamed).toMatchObject({ code: 2, err: expect.stringMatching(/moves wait of: empty-[0-9a-f]{8} \(1\)/) });
  expect(await berth('rebalance --undo --empty h-4 --empty h-3')).toContain('1 undone');
  const after = await allAtRest();
  const stayed = after.filter(({ uuid, host }) => before.some((one) => one.uuid === uuid && one.host === host));
  expect(stayed).toHaveLength(1);
  expect(stayed[0]).toMatchObject({ state: 'active', migration: undefined });
});

it('makes room for one of a flavor where it may be', async () => {
  for (const { uuid } of await operator.instances()) await operator.terminateAndWait(uuid, LIMIT);
  await berth('aggregate create z1 --property availability_zone=z1');
  await berth('aggregate add-host z1 h-2');
  for (const host of ['h-1', 'h-3', 'h-4']) await operator.setHostEnabled(host, false);
  for (const VCPU of [1, 3]) {
    await operator.buildAndWait({ spec: { ...SPEC, resources: { VCPU, MEMORY_MB: 64 } } }, LIMIT);
  }
  for (const host of ['h-1', 'h-3', 'h-4']) await operator.setHostEnabled(host, true);
  await berth('flavor create big --vcpu 6 --memory-mb 64');
  expect(await berth('rebalance --plan --admit-flavor big')).toContain('nothing has to move');
  expect(await berth('rebalance --apply --admit-flavor big --admit-zone z1')).toMatch(/h-2 +h-[134]\b[^]*1 moved/);
  const spec = { projectId: 'demo', userId: 'me', flavor: { name: 'big', version: 0 }, availabilityZone: 'z1' };
  const [{ host } = { host: '' }] = await operator.buildAndWait({ spec }, LIMIT);
  expect(host).toBe('h-2');
  expect((await runLine('rebalance --plan --admit VCPU=9', env())).code).toBe(1);
});
