import { BerthError } from '#libs/domain/errors';
import { selectDestinationsCall } from '../calls/select-destinations';
import type { SelectDeps } from '../decision/select-destinations';
import { aNovaSpec } from '../testing/nova-spec';
import { aWorld, instance, uuidOf } from '../testing/world';
import { AwaitedClaims } from './awaited-claims';
import type { ConsumerBody, HeldAllocations, PlacementClient, Written } from './placement-client';

/* Claims in a placement that is not Berth's; against a real one: test/integration/nova/openstack-claims.test.ts. */

let world: Awaited<ReturnType<typeof aWorld>>;
let awaited: AwaitedClaims;
afterEach(async () => {
  awaited.close();
  await world.close();
});

const NOTHING: HeldAllocations = { allocations: {}, generation: null };
const CONCURRENT: Written = { kind: 'refused', status: 409, code: 'placement.concurrent_update', detail: '' };

/** A placement that answers as a test says, write by write, and takes what it is not told to refuse. */
async function aPlacement(...answers: readonly (Written | 'silent' | 'lost')[]) {
  world = await aWorld([{}, {}]);
  const held = new Map<string, HeldAllocations>();
  const writes: Readonly<Record<string, ConsumerBody>>[] = [];
  const put = (consumers: Readonly<Record<string, ConsumerBody>>) => {
    for (const [uuid, { allocations }] of Object.entries(consumers)) {
      const amounts = Object.entries(allocations).map(([provider, { resources }]) => [provider, resources] as const);
      held.set(uuid, { allocations: Object.fromEntries(amounts), generation: 1 });
    }
  };
  const around = { beforeRead: async () => {} };
  const client: PlacementClient = {
    async held(uuid) {
      await around.beforeRead();
      return held.get(uuid) ?? NOTHING;
    },
    async write(consumers) {
      const answer = answers[writes.length] ?? { kind: 'written' };
      writes.push(consumers);
      if (answer === 'silent' || (typeof answer === 'object' && answer.kind === 'written')) put(consumers);
      if (typeof answer === 'string') throw new BerthError('unavailable', 'placement_unavailable', 'no answer');
      return answer;
    },
  };
  awaited = new AwaitedClaims(world.mirror, world.deps.inFlight, world.clock);
  const deps: SelectDeps & typeof world.deps = { ...world.deps, elsewhere: { client, awaited } };
  const call = selectDestinationsCall(deps);
  return {
    held,
    writes,
    around,
    async hosts(fields = {}, uuids = [instance(1)]) {
      const args = { spec_obj: aNovaSpec(fields), instance_uuids: uuids, return_objects: true };
      const about = { method: 'select_destinations', version: '4.5', context: {}, namespace: undefined };
      const outcome = await call(args, { ...about, args, uniqueId: undefined, replyTo: undefined });
      if (outcome.kind !== 'result') throw new Error('handed over');
      const selections = outcome.value as { 'nova_object.data': { service_host: string } }[][];
      return selections.flat().map((one) => one['nova_object.data'].service_host);
    },
  };
}

it('claims all instances of a request in one write, with their generations', async () => {
  const placement = await aPlacement();
  await placement.hosts({}, [instance(1), instance(2)]);
  const [write, ...more] = placement.writes;
  expect(more).toEqual([]);
  expect(Object.keys(write ?? {})).toEqual([instance(1), instance(2)]);
  expect(write?.[instance(1)]).toMatchObject({ project_id: 'project', user_id: 'user', consumer_generation: null });
  expect(await world.held(instance(1))).toBeUndefined();
});

it('writes again when others wrote at once, as Nova does', async () => {
  const placement = await aPlacement(CONCURRENT, CONCURRENT);
  expect(await placement.hosts()).toEqual(['h1']);
  expect(placement.writes).toHaveLength(3);
});

it('takes a write whose answer was lost as a claim when the instance holds it', async () => {
  const placement = await aPlacement('silent');
  expect(await placement.hosts()).toEqual(['h1']);
  expect(placement.writes).toHaveLength(1);
});

it('writes again when it does not, and in the end fails as a placement that is away', async () => {
  const lost = ['lost', 'lost', 'lost', 'lost'] as const;
  const placement = await aPlacement(...lost);
  await expect(placement.hosts()).rejects.toMatchObject({ className: 'PlacementAPIConnectFailure' });
  expect(placement.writes).toHaveLength(lost.length);
});

it('decides again without a host that placement refuses', async () => {
  const detail = `Unable to create allocation for 'VCPU' on resource provider '${uuidOf(1)}'. The requested amount would exceed the capacity.`;
  const placement = await aPlacement({ kind: 'refused', status: 409, code: 'placement.undefined_code', detail });
  expect(await placement.hosts()).toEqual(['h2']);
});

it('keeps what an instance holds beside, and guards it by its generation', async () => {
  const placement = await aPlacement();
  const before = { [uuidOf(1)]: { VCPU: 1 } };
  placement.held.set(instance(1), { allocations: before, generation: 7 });
  const of = { uuid: instance(1), projectId: 'p', userId: 'u', consumerType: undefined, owner: 'api', mappings: {} };
  const consumers = [{ ...of, allocations: before, expect: { kind: 'any' } }];
  await world.commit({ kind: 'write_allocations', consumers });
  expect(await placement.hosts({ more: { ignore_hosts: ['h1'] } })).toEqual(['h2']);
  const body = placement.writes[0]?.[instance(1)];
  expect(body?.consumer_generation).toBe(7);
  expect(Object.keys(body?.allocations ?? {}).toSorted()).toEqual([uuidOf(1), uuidOf(2)]);
});

it('claims anew what the copy shows as held and is not', async () => {
  const placement = await aPlacement();
  const of = { uuid: instance(1), projectId: 'p', userId: 'u', consumerType: undefined, owner: 'api', mappings: {} };
  const allocations = { [uuidOf(1)]: { VCPU: 1, MEMORY_MB: 256, DISK_GB: 5 } };
  await world.commit({ kind: 'write_allocations', consumers: [{ ...of, allocations, expect: { kind: 'any' } }] });
  await placement.hosts();
  expect(placement.writes).toHaveLength(1);
});

it('keeps a claim of which it learns while it claims another, instead of both', async () => {
  const placement = await aPlacement(CONCURRENT);
  const allocations = { [uuidOf(2)]: { VCPU: 1, MEMORY_MB: 256, DISK_GB: 5 } };
  placement.held.set(instance(1), { allocations, generation: 1 });
  const of = { uuid: instance(1), projectId: 'p', userId: 'u', consumerType: undefined, owner: 'api', mappings: {} };
  placement.around.beforeRead = async () => {
    placement.around.beforeRead = async () => {};
    await world.commit({ kind: 'write_allocations', consumers: [{ ...of, allocations, expect: { kind: 'any' } }] });
  };
  expect(await placement.hosts()).toEqual(['h2']);
  expect(placement.writes).toHaveLength(1);
  expect(placement.held.get(instance(1))?.allocations).toEqual(allocations);
});

it('counts a claim until the copy shows it, and its instance as a member of its group', async () => {
  const placement = await aPlacement();
  const group = { uuid: instance(9), policy: 'anti-affinity', members: [instance(1), instance(2)], hosts: [] };
  expect(await placement.hosts({ group })).toEqual(['h1']);
  expect(await placement.hosts({ group }, [instance(2)])).toEqual(['h2']);
  expect(world.deps.inFlight.of(uuidOf(1), 'VCPU')).toBe(1);
  const of = { uuid: instance(1), projectId: 'p', userId: 'u', consumerType: undefined, owner: 'api', mappings: {} };
  const allocations = placement.held.get(instance(1))?.allocations;
  await world.commit({ kind: 'write_allocations', consumers: [{ ...of, allocations, expect: { kind: 'any' } }] });
  expect(world.deps.inFlight.of(uuidOf(1), 'VCPU')).toBe(0);
  await world.clock.advance(61_000);
  expect(world.deps.inFlight.isEmpty).toBe(true);
});
