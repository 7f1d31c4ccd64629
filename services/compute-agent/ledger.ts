import type { RunningInstance } from '#libs/contracts/messages';
import { addResources, type Resources } from '#libs/domain/inventory';

/** An instance that an agent carries: it holds its resources from the moment it is accepted until nothing is left. */
export interface Carried {
  readonly uuid: string;
  readonly requestId: string;
  readonly name: string;
  readonly projectId: string;
  readonly userId: string;
  readonly groupId: string;
  readonly resources: Resources;
  /** The newest attempt that the agent was told of. */
  readonly attempt: number;
  readonly claimRevision: number;
  readonly state: 'building' | 'running' | 'destroying';
}

/** What one host carries, and the sum of it: the agent's own truth. */
export interface Ledger {
  get(uuid: string): Carried | undefined;
  put(carried: Carried): void;
  remove(uuid: string): void;
  all(): Iterable<Carried>;
  count(state: Carried['state']): number;
  /** What all carried instances hold, by class. */
  used(): Resources;
}

export function createLedger(): Ledger {
  const entries = new Map<string, Carried>();
  const counts = { building: 0, running: 0, destroying: 0 };
  let used: Resources = {};

  const remove = (uuid: string) => {
    const entry = entries.get(uuid);
    if (!entry) return;
    entries.delete(uuid);
    counts[entry.state]--;
    used = addResources(used, negated(entry.resources));
  };

  return {
    get: (uuid) => entries.get(uuid),
    put(carried) {
      remove(carried.uuid);
      entries.set(carried.uuid, carried);
      counts[carried.state]++;
      used = addResources(used, carried.resources);
    },
    remove,
    all: () => entries.values(),
    count: (state) => counts[state],
    used: () => used,
  };
}

/** A carried instance as an agent reports it. */
export function reported(carried: Carried): RunningInstance {
  return {
    instanceUuid: carried.uuid,
    projectId: carried.projectId,
    userId: carried.userId,
    resources: carried.resources,
    name: carried.name,
    groupId: carried.groupId,
    requestId: carried.requestId,
    running: carried.state === 'running',
  };
}

function negated(resources: Resources): Resources {
  return Object.fromEntries(Object.entries(resources).map(([resourceClass, amount]) => [resourceClass, -amount]));
}
