import { callMethod } from '#libs/bus/typed-calls';
import { RPC_CONDUCTOR } from '#libs/contracts/queues';
import { releaseClaimsMethod } from '#libs/contracts/release-claims';
import { claimWrite } from '#libs/placement/sealed/claim-write';
import type { Running } from '#libs/runtime/service';
import { ConductorWorld } from './testing/conductor-world';

let world: ConductorWorld;
let conductor: Running;

beforeEach(async () => {
  world = new ConductorWorld();
  await world.open({ h1: 3 });
  conductor = await world.conductor();
});
afterEach(async () => {
  await world.closed(conductor);
});

const release = async (instanceUuid: string, claimToken: number) => {
  const calling = callMethod(
    { bus: world.bus, queue: RPC_CONDUCTOR },
    releaseClaimsMethod,
    { claims: [{ instanceUuid, claimToken }] },
    { timeoutMs: 1_000 },
  );
  await world.clock.advance(0);
  return calling;
};

it('gives back a claim without a record, by its token', async () => {
  const uuid = world.random.uuid();
  const write = claimWrite(world.opened(world.allocationRequest(uuid, 'h1')));
  const result = await world.placement.commit({
    kind: 'write_allocations',
    atMs: world.clock.now(),
    consumers: [write],
  });
  const token = result.kind === 'committed' ? result.claimToken : 0;
  expect(await release(uuid, token + 1)).toEqual({ released: 0 });
  expect(await world.claims()).toHaveLength(1);
  expect(await release(uuid, token)).toEqual({ released: 1 });
  expect(await world.claims()).toEqual([]);
});

it('leaves the claim of an instance that is on record', async () => {
  await world.request();
  await world.clock.advance(0);
  const { uuid, claimToken = 0 } = await world.only();
  expect(await release(uuid, claimToken)).toEqual({ released: 0 });
  expect(world.runs()).toEqual(await world.claims());
});
