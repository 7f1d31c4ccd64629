import type { Allocations } from '#libs/domain/consumer';
import type { HostPosition } from '#libs/domain/host-position';
import { addResources, negated, type Resources } from '#libs/domain/inventory';
import type { BuildOrder } from './build-order';
import { heldByProvider, mostByProvider } from './own-providers';

/**
 * An instance tracked by a host's agent (Nova's resource tracker: `tracked_instances`). It holds its resources from the
 * acceptance of its build until nothing of it is left.
 */
export interface TrackedInstance {
  readonly uuid: string;
  readonly requestId: string;
  readonly name: string;
  readonly projectId: string;
  readonly userId: string;
  readonly groupId: string;
  readonly resources: Resources;
  /** Its resources by provider; empty when unknown, or missing in an older version's journal. */
  readonly allocations?: Allocations;
  /** The newest ordered attempt. */
  readonly attempt: number;
  readonly claimToken: number;
  /** The sealed allocation request of its claim, in base64; empty when the order had none. */
  readonly allocationRequest: string;
  readonly state: 'building' | 'running' | 'stopping' | 'stopped' | 'destroying';
  /** When it was stopped or started last: an order that rests on an earlier position is late. */
  readonly poweredAt?: HostPosition | undefined;
  /** True when it was stopped to be moved, and is kept until the move is confirmed or reverted. */
  readonly handedOver?: boolean;
  /** True when it already counts as this attempt's, and has yet to continue here. */
  readonly isArriving?: boolean;
  /** By provider: its resources before an unfinished resize, which it may use until then. */
  readonly heldBefore?: Allocations | undefined;
  /** Set while its driver may still have it at its former size: the spec to run it with, and never another. */
  readonly yetToResize?: Pick<BuildOrder, 'requestSpec' | 'mappings'> | undefined;
  /** For a build that another run may continue: the order, in base64. */
  readonly orderBody?: string;
}

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
