import type { Allocations } from '#libs/domain/consumer';
import { addResources, negated, type Resources } from '#libs/domain/inventory';
import { heldByProvider, mostByProvider } from './own-providers';
import type { TrackedInstance } from './tracked-instance';

/** The tracked instances of one host and the sum of their resources: the agent's own truth. */
export interface Ledger {
  get(uuid: string): TrackedInstance | undefined;
  put(instance: TrackedInstance): void;
  remove(uuid: string): void;
  all(): Iterable<TrackedInstance>;
  count(state: TrackedInstance['state']): number;
  /** The tracked instances' usage of a provider, by resource class. */
  usedOn(providerUuid: string): Resources;
}

/** @param rootUuid  the host's own provider, for instances whose providers are unknown */
export function createLedger(rootUuid: string): Ledger {
  const instances = new Map<string, TrackedInstance>();
  const counts = { building: 0, running: 0, stopping: 0, stopped: 0, destroying: 0 };
  const used = new Map<string, Resources>();

  const count = (instance: TrackedInstance, sign: 1 | -1) => {
    for (const [uuid, resources] of Object.entries(heldWhileResized(rootUuid, instance))) {
      const sum = withoutNothing(addResources(used.get(uuid) ?? {}, sign === 1 ? resources : negated(resources)));
      if (Object.keys(sum).length > 0) used.set(uuid, sum);
      else used.delete(uuid);
    }
  };

  const remove = (uuid: string) => {
    const instance = instances.get(uuid);
    if (!instance) return;
    instances.delete(uuid);
    counts[instance.state]--;
    count(instance, -1);
  };

  return {
    get: (uuid) => instances.get(uuid),
    put(instance) {
      remove(instance.uuid);
      instances.set(instance.uuid, instance);
      counts[instance.state]++;
      count(instance, 1);
    },
    remove,
    all: () => instances.values(),
    count: (state) => counts[state],
    usedOn: (uuid) => used.get(uuid) ?? {},
  };
}

/** During a resize, the larger of both sizes, of each class on each provider. */
export function heldWhileResized(rootUuid: string, instance: TrackedInstance): Allocations {
  const held = heldByProvider(rootUuid, instance);
  return instance.heldBefore ? mostByProvider(held, instance.heldBefore) : held;
}

function withoutNothing(resources: Resources): Resources {
  return Object.fromEntries(Object.entries(resources).filter(([, amount]) => amount !== 0));
}
