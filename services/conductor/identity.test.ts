import { callMethod, castTyped } from '#libs/bus/typed-calls';
import { buildReportCodec, hostDiscrepancyCodec } from '#libs/contracts/compute';
import { buildRefusedCodec, buildRequestCodec, terminateInstanceCodec } from '#libs/contracts/conductor';
import type { Identity } from '#libs/contracts/identity';
import { listInstancesMethod } from '#libs/contracts/instance';
import { BUILD_REQUESTS, BUILD_RESULTS, RPC_CONDUCTOR } from '#libs/contracts/queues';
import type { Running } from '#libs/runtime/service';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { ConductorWorld } from './testing/conductor-world';

/* Nobody acts for another: what each sender may have of a conductor. The world's requests are those of project-1. */

const OWNER: Identity = { kind: 'project', projectId: 'project-1' };
const STRANGER: Identity = { kind: 'project', projectId: 'project-2' };
const AGENT_H1: Identity = { kind: 'agent', host: 'h1', carriesOthers: false };
const AGENT_H2: Identity = { kind: 'agent', host: 'h2', carriesOthers: false };

let world: ConductorWorld;
let conductor: Running;
let refusals: (readonly [topic: string, reason: string])[];

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 10 });
  conductor = await world.conductor();
  refusals = [];
  await world.bus.subscribe('request.refused.*', (topic, { body }) => {
    refusals.push([topic, buildRefusedCodec.decode(body).error.reason]);
  });
});
afterEach(async () => {
  await world.closed(conductor);
});

async function anActiveInstance() {
  await world.request();
  await world.clock.advance(100);
  const instance = await world.only();
  expect(instance.state).toBe('active');
  return instance;
}

async function terminate(identity: Identity, projectId: string): Promise<string> {
  const { uuid: instanceUuid } = await anActiveInstance();
  await castTyped({ bus: world.openBus(identity), queue: BUILD_REQUESTS }, terminateInstanceCodec, {
    instanceUuid,
    projectId,
  });
  await world.clock.advance(1_000);
  return (await world.only()).state;
}

it.each(['', 'project-1', 'project-2'])(
  'a tenant can not terminate the instance of another, naming %p',
  async (name) => {
    expect(await terminate(STRANGER, name)).toBe('active');
    expect(refusals).toEqual([['request.refused.project-2', 'no_such_instance']]);
  },
);

it.each(['', 'project-1'])('a tenant can terminate its own, naming %p', async (name) => {
  expect(await terminate(OWNER, name)).toBe('deleted');
});

it('an operator can terminate any', async () => {
  expect(await terminate({ kind: 'service' }, '')).toBe('deleted');
});

it('an agent can request nothing', async () => {
  expect(await terminate(AGENT_H1, '')).toBe('active');
});

it('a tenant can not request for another project', async () => {
  const request = {
    requestId: world.random.uuid(),
    requestSpec: anEncodedSpec(),
    count: 1,
    name: '',
    instanceUuids: [],
  };
  await castTyped({ bus: world.openBus(STRANGER), queue: BUILD_REQUESTS }, buildRequestCodec, request);
  await world.clock.advance(100);
  expect(await world.all()).toEqual([]);
  expect(refusals).toEqual([['request.refused.project-2', 'wrong_project']]);
});

it('a tenant learns nothing of the instances of a request whose id it guesses', async () => {
  const { requestId } = await anActiveInstance();
  const requestSpec = anEncodedSpec({ projectId: 'project-2' });
  const request = { requestId, requestSpec, count: 1, name: '', instanceUuids: [] };
  await castTyped({ bus: world.openBus(STRANGER), queue: BUILD_REQUESTS }, buildRequestCodec, request);
  await world.clock.advance(100);
  expect(refusals).toEqual([['request.refused.project-2', 'request_exists']]);
});

it('a tenant lists its own instances only', async () => {
  const { uuid } = await anActiveInstance();
  const list = async (identity: Identity, fields: { projectId?: string; instanceUuid?: string } = {}) => {
    const query = { instanceUuid: '', requestId: '', projectId: '', state: undefined, host: '', marker: '', limit: 10 };
    const bus = world.openBus(identity);
    const answer = callMethod(
      { bus, queue: RPC_CONDUCTOR },
      listInstancesMethod,
      { ...query, ...fields },
      { timeoutMs: 1_000 },
    );
    const settled = answer.then(
      ({ instances }) => instances.map((instance) => instance.uuid),
      (error: { reason: string }) => error.reason,
    );
    await world.clock.advance(100);
    return settled;
  };
  expect(await list(OWNER)).toEqual([uuid]);
  expect(await list({ kind: 'service' })).toEqual([uuid]);
  expect(await list(STRANGER)).toEqual([]);
  expect(await list(STRANGER, { instanceUuid: uuid })).toEqual([]);
  expect(await list(STRANGER, { projectId: 'project-1' })).toBe('wrong_project');
  expect(await list(AGENT_H1)).toBe('wrong_project');
});

it.each([
  ['another host', AGENT_H2, 'active'],
  ['a tenant', OWNER, 'active'],
  ['its own host', AGENT_H1, 'error'],
])('a report that an instance is lost counts as that of %s', async (_, identity, state) => {
  const { uuid: instanceUuid } = await anActiveInstance();
  const [order] = world.orders;
  const about = { instanceUuid, host: 'h1', attempt: order?.attempt ?? 0, claimToken: order?.claimToken ?? 0 };
  const said = { outcome: 'lost' as const, reason: 'lost', message: '', ...world.nextPosition('h1') };
  const report = { ...about, alternates: [], ...said };
  await castTyped({ bus: world.openBus(identity), queue: BUILD_RESULTS }, buildReportCodec, report);
  await world.clock.advance(1_000);
  expect((await world.only()).state).toBe(state);
});

it.each([
  ['of a pool, that holds the node', 'h1', 'a', 'error'],
  ['of a pool, the node being held by another', 'h1', 'b', 'active'],
  ['of a pool, that holds another node', 'h2', 'a', 'active'],
  ['of a pool, the node being held by nobody', '', '', 'active'],
])('a report that an instance is lost counts as that of an agent %s', async (_, host, serviceHost, state) => {
  const { uuid: instanceUuid } = await anActiveInstance();
  const holder = { agentRun: 'run', serviceHost, leaseMs: 60_000, atMs: world.clock.now() };
  if (host !== '') await world.placement.acquireHosts({ hosts: [host], ...holder });
  const [order] = world.orders;
  const about = { instanceUuid, host: 'h1', attempt: order?.attempt ?? 0, claimToken: order?.claimToken ?? 0 };
  const said = { outcome: 'lost' as const, reason: 'lost', message: '', ...world.nextPosition('h1') };
  const identity: Identity = { kind: 'agent', host: 'a', carriesOthers: false, pool: 'metal' };
  await castTyped({ bus: world.openBus(identity), queue: BUILD_RESULTS }, buildReportCodec, {
    ...about,
    alternates: [],
    ...said,
  });
  await world.clock.advance(1_000);
  expect((await world.only()).state).toBe(state);
  expect(await world.bus.depth('dead-letters')).toBe(state === 'active' ? 1 : 0);
});

it('an agent can not report discrepancies, which schedulers find', async () => {
  const { uuid } = await anActiveInstance();
  for (let times = 0; times < 2; times++) {
    const found = world.discrepancy('h1', { missing: [uuid] });
    await castTyped({ bus: world.openBus(AGENT_H1), queue: BUILD_RESULTS }, hostDiscrepancyCodec, found);
  }
  await world.clock.advance(1_000);
  expect((await world.only()).state).toBe('active');
  expect(await world.bus.depth('dead-letters')).toBe(2);
});
