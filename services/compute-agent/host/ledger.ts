import { addResources, type Resources } from '#libs/domain/inventory';

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
  /** The newest attempt that the agent was ordered. */
  readonly attempt: number;
  readonly claimToken: number;
  /** The sealed allocation request of its claim, in base64; empty when the order had none. */
  readonly allocationRequest: string;
  readonly state: 'building' | 'running' | 'destroying';
}

/** The tracked instances of one host and the sum of what they hold: the agent's own truth. */
export interface Ledger {
  get(uuid: string): TrackedInstance | undefined;
  put(instance: TrackedInstance): void;
  remove(uuid: string): void;
  all(): Iterable<TrackedInstance>;
  count(state: TrackedInstance['state']): number;
  /** What all tracked instances hold, by resource class. */
  used(): Resources;
}

export function createLedger(): Ledger {
  const instances = new Map<string, TrackedInstance>();
  const counts = { building: 0, running: 0, destroying: 0 };
  let used: Resources = {};

  const remove = (uuid: string) => {
    const instance = instances.get(uuid);
    if (!instance) return;
    instances.delete(uuid);
    counts[instance.state]--;
    used = addResources(used, negated(instance.resources));
  };

  return {
    get: (uuid) => instances.get(uuid),
    put(instance) {
      remove(instance.uuid);
      instances.set(instance.uuid, instance);
      counts[instance.state]++;
      used = addResources(used, instance.resources);
    },
    remove,
    all: () => instances.values(),
    count: (state) => counts[state],
    used: () => used,
  };
}

function negated(resources: Resources): Resources {
  return Object.fromEntries(Object.entries(resources).map(([resourceClass, amount]) => [resourceClass, -amount]));
}
