import type { Consumer } from '#libs/domain/consumer';
import { inventory } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { PlacementStore, Revised } from '#libs/placement/port/placement-store';
import { auditFleet } from './audit';

const provider: Revised<Provider> = {
  uuid: 'p1',
  name: 'host-1',
  parentUuid: undefined,
  rootUuid: 'p1',
  generation: 1,
  inventories: { VCPU: inventory(4) },
  traits: [],
  aggregates: [],
  createdAtMs: 0,
  updatedAtMs: 0,
  revision: 1,
};

function consumer(uuid: string, vcpus: number): Revised<Consumer> {
  return {
    uuid,
    generation: 1,
    projectId: 'p',
    userId: 'u',
    consumerType: 'INSTANCE',
    owner: 'conductor',
    allocations: { p1: { VCPU: vcpus } },
    mappings: {},
    groupId: undefined,
    groupHost: undefined,
    claimToken: 1,
    createdAtMs: 0,
    updatedAtMs: 0,
    revision: 1,
  };
}

/** A store with one host and these consumers, just enough for an audit. */
function storeOf(...consumers: Revised<Consumer>[]): PlacementStore {
  const store: Pick<PlacementStore, 'snapshot'> = {
    async snapshot(onRows) {
      onRows({ providers: [provider] });
      onRows({ consumers });
      return 1;
    },
  };
  return store as PlacementStore;
}

function running(...ids: string[]) {
  return [{ host: 'host-1', running: ids.map((id) => ({ id, resources: { VCPU: 2 } })) }];
}

it('finds nothing when every allocation runs and every instance is allocated', async () => {
  const store = storeOf(consumer('a', 2), consumer('b', 2));
  expect(await auditFleet(store, running('a', 'b'))).toEqual({ overAllocated: 0, leaked: 0 });
});

it('counts allocations of what does not run, and instances without an allocation', async () => {
  expect(await auditFleet(storeOf(consumer('a', 1), consumer('b', 1)), running('a'))).toMatchObject({ leaked: 1 });
  expect(await auditFleet(storeOf(consumer('a', 1)), running('a', 'b'))).toMatchObject({ leaked: 1 });
  expect(await auditFleet(storeOf(consumer('a', 1)), running('b'))).toMatchObject({ leaked: 2 });
});

it('counts what is allocated above capacity, and hosts that run more than they have', async () => {
  expect(await auditFleet(storeOf(consumer('a', 5)), running('a'))).toMatchObject({ overAllocated: 1 });
  const three = storeOf(consumer('a', 1), consumer('b', 1), consumer('c', 1));
  expect(await auditFleet(three, running('a', 'b', 'c'))).toMatchObject({ overAllocated: 1 });
});
