import type { Allocations } from '#libs/domain/consumer';
import type { HostPosition } from '#libs/domain/host-position';
import { addResources, negated, type Resources } from '#libs/domain/inventory';
import type { BuildOrder } from './build-order';
import { heldByProvider, mostByProvider } from './own-providers';

/**
 * An instance of a host, as its agent tracks it (Nova's resource tracker: `tracked_instances`). It holds its resources
 * from the moment its build is accepted until nothing of it is left.
 */
export interface TrackedInstance {
  readonly uuid: string;
  readonly requestId: string;
  readonly name: string;
  readonly projectId: string;
  readonly userId: string;
  readonly groupId: string;
  readonly resources: Resources;
  /** The same by provider; empty, or not there in a journal of an older version, when that is not known. */
  readonly allocations?: Allocations;
  /** The newest attempt that the agent was ordered. */
  readonly attempt: number;
  readonly claimToken: number;
  /** The sealed allocation request of its claim, in base64; empty when the order had none. */
  readonly allocationRequest: string;
  readonly state: 'building' | 'running' | 'stopping' | 'stopped' | 'destroying';
  /** When it was stopped or started last: an order that rests on what was said before is a late one. */
  readonly poweredAt?: HostPosition | undefined;
  /** It was stopped to be moved, and is kept until that is confirmed or reverted. */
  readonly handedOver?: boolean;
  /** It is this attempt's already, and is yet to go on. */
  readonly isArriving?: boolean;
  /** By provider: what it held before a resize that is not done yet, and may use until then. */
  readonly heldBefore?: Allocations | undefined;
  /** Its driver may still have it with what it held before: what it is to be run with, and never otherwise. */
  readonly yetToResize?: Pick<BuildOrder, 'requestSpec' | 'mappings'> | undefined;
  /** Of one that is being built where builds are carried on: the order, in base64. */
  readonly orderBody?: string;
}

/** The tracked instances of one host and the sum of what they hold: the agent's own truth. */
export interface Ledger {
  get(uuid: string): TrackedInstance | undefined;
  put(instance: TrackedInstance): void;
  remove(uuid: string): void;
  all(): Iterable<TrackedInstance>;
  count(state: TrackedInstance['state']): number;
  /** What all tracked instances hold of a provider, by resource class. */
  usedOn(providerUuid: string): Resources;
}

/** @param rootUuid  the host's own provider, which instances hold that nobody said the providers of */
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

/** Of both sizes the larger, of each class on each provider. */
export function heldWhileResized(rootUuid: string, instance: TrackedInstance): Allocations {
  const held = heldByProvider(rootUuid, instance);
  return instance.heldBefore ? mostByProvider(held, instance.heldBefore) : held;
}

function withoutNothing(resources: Resources): Resources {
  return Object.fromEntries(Object.entries(resources).filter(([, amount]) => amount !== 0));
}
