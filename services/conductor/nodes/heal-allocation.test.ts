import { callMethod } from '#libs/bus/typed-calls';
import { healAllocationMethod, type NodeView, nodeCodec } from '#libs/contracts/nodes';
import { RPC_CONDUCTOR } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError } from '#libs/domain/errors';
import type { Running } from '#libs/runtime/service';
import { aNodeRecord } from '#libs/testing/node-record';
import type { ConductorDeps } from '../context';
import { ConductorWorld, providerOf } from '../testing/conductor-world';

const NODE = 'h1';
const GOLD = 'CUSTOM_BAREMETAL_GOLD';
const BY_CLASS = { [providerOf(NODE)]: { [GOLD]: 1 } };

const RECORD: NodeView = aNodeRecord({ host: NODE, pool: 'p', state: 'active', isOn: true, updatedAtMs: 1 });

let world: ConductorWorld;
let conductor: Running;
/** True if the conductor dies before it writes a record. */
let diesBeforeWrites = false;

/** An instance that has a node by its processors, while the node shows its class, too. */
beforeEach(async () => {
  diesBeforeWrites = false;
  world = new ConductorWorld();
  world.preferred = { [GOLD]: 1 };
  await world.open({ [NODE]: 1 });
  world.preferred = {};
  const [grant] = await world.placement.acquireHosts({
    serviceHost: NODE,
    agentRun: 'run',
    formerRun: '',
    hosts: [NODE],
    leaseMs: 3_600_000,
    atMs: world.clock.now(),
  });
  if (grant?.kind !== 'granted') throw new Error('the node is not held');
  const content = Buffer.from(nodeCodec.encode(RECORD)).toString('base64');
  await world.placement.writeNode({ host: NODE, epoch: grant.epoch, updatedAtMs: RECORD.updatedAtMs, content });
  conductor = await world.conductor(mortal);
  await world.request();
  await world.clock.advance(5_000);
});

afterEach(async () => {
  await world.closed(conductor);
});

function mortal(deps: ConductorDeps): ConductorDeps {
  const { instances } = deps;
  const update: typeof instances.update = async (...args) => {
    if (diesBeforeWrites) throw new BerthError('unavailable', 'died', 'it died before this was written');
    return instances.update(...args);
  };
  return { ...deps, instances: new Proxy(instances, { get: (of, name) => pick(of, name, update) }) };
}

function pick(of: ConductorDeps['instances'], name: string | symbol, update: unknown): unknown {
  if (name === 'update') return update;
  const value: unknown = Reflect.get(of, name, of);
  return typeof value === 'function' ? value.bind(of) : value;
}

async function heal(): Promise<boolean | string> {
  const { uuid: instanceUuid } = await world.only();
  const asked = callMethod(
    { bus: world.bus, queue: RPC_CONDUCTOR },
    healAllocationMethod,
    { instanceUuid },
    { timeoutMs: 500 },
  );
  const settled = asked.then(
    ({ changed }) => changed,
    (thrown: unknown) => BerthError.from(thrown).reason,
  );
  await world.clock.advance(1_000);
  return settled;
}

/** The instance's holdings, its record's spec, and its sealed request. */
async function truth() {
  const { uuid, requestSpec, allocationRequest, claimToken } = await world.only();
  const [consumer] = await world.placement.consumers([uuid]);
  return {
    held: consumer?.allocations,
    asked: requestSpecCodec.decode(requestSpec).resources,
    sealed: allocationRequest.length === 0 ? undefined : world.opened(allocationRequest).allocations,
    isByToken: consumer?.claimToken === claimToken,
  };
}

const HEALED = { held: BY_CLASS, asked: { [GOLD]: 1 }, sealed: BY_CLASS, isByToken: true };

it('gives an instance its node by class, in its claim, its record and what is sealed', async () => {
  expect(await truth()).toMatchObject({ held: { [providerOf(NODE)]: { VCPU: 1 } }, asked: { VCPU: 1 } });
  expect(await heal()).toBe(true);
  expect(await truth()).toEqual(HEALED);
  expect(await heal()).toBe(false);
});

it('catches up when the conductor died between the claim and its record', async () => {
  diesBeforeWrites = true;
  expect(await heal()).not.toBe(true);
  expect(await truth()).toMatchObject({ held: BY_CLASS, asked: { VCPU: 1 }, isByToken: false });
  diesBeforeWrites = false;
  expect(await heal()).toBe(true);
  expect(await truth()).toEqual(HEALED);
});

it('catches up though an audit has given the record the claim’s token meanwhile', async () => {
  diesBeforeWrites = true;
  await heal();
  diesBeforeWrites = false;
  await world.clock.advance(60_000);
  expect(await truth()).toMatchObject({ held: BY_CLASS, asked: { VCPU: 1 }, isByToken: true });
  expect(await heal()).toBe(true);
  expect(await truth()).toEqual(HEALED);
});

it('is claimed again by its class when the store has lost its claim', async () => {
  await heal();
  const { uuid, claimToken = 0 } = await world.only();
  await world.placement.commit({ kind: 'release_claim', atMs: world.clock.now(), consumerUuid: uuid, claimToken });
  await world.clock.advance(60_000);
  expect(await truth()).toEqual(HEALED);
});
