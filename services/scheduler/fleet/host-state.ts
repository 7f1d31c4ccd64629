import type { Aggregate } from '#libs/domain/grouping/aggregate';
import type { Host } from '#libs/domain/host';
import { addResources, capacityOf, type Inventories, negated, type Resources } from '#libs/domain/inventory';
import type { Provider } from '#libs/domain/provider';
import type { HostProviders } from './host-providers';
import { isSameAmounts, isSameProvider } from './host-providers';
import type { PendingClaim } from './pending-claims';
import type { Quarantine } from './quarantine';

/**
 * A host as filters and weighers see it (Nova's HostState): the row of the store, what its providers have free, and what
 * is counted from others; claims on their way count as made. Immutable: a host that changes gets a new state.
 *
 * Where several providers stand behind a host (a tree, sharing providers), amounts say what is possible at best, and the
 * candidate search decides.
 */
export interface HostState {
  /** Its place in the fleet, as long as it is there. */
  readonly index: number;
  readonly host: Host;
  /** The host aggregates that it is in: its zone, and what else operators say of it. */
  readonly aggregates: readonly Aggregate[];
  /** Its generation may have risen since: nobody here looks at it. */
  readonly root: Provider;
  /** On any of its providers. */
  readonly traits: ReadonlySet<string>;
  /** By resource class; of several providers with the class, their sum, within the widest units. */
  readonly inventories: Inventories;
  /** Capacity that is not allocated, of each class in `inventories`; of a flat host, below 0 when over-committed. */
  readonly free: Resources;
  /** The most that one provider has free. */
  readonly freeAtOnce: Resources;
  /** On the host or claimed for it, those that Berth does not manage included. */
  readonly instances: number;
  /** Builds as the host last reported them, and claims that it has not had time to report. */
  readonly buildsInProgress: number;
  /** Failed builds, faded with time; a fraction. */
  readonly recentFailures: number;
  /** Undefined for a host that is trusted. */
  readonly quarantine: Quarantine | undefined;
  /** Room that leases want kept free for alternates, by class: a wish; undefined when there are none. */
  readonly leased: Resources | undefined;
  /** Amounts in `free` that reservations keep from the request that looks at it; undefined for none. */
  readonly reserved: ReservedAmounts | undefined;
  /** Undefined for a flat host: one provider, and nothing is shared with it, so that all comes from the root. */
  readonly providers: HostProviders | undefined;
}

/** Amounts that are not free for a request, by class, and what keeps them. */
export interface ReservedAmounts {
  readonly amounts: Resources;
  readonly by: string;
}

/** The state of a host as it is once a claim is made, on the host itself or on a provider that is shared with it. */
export function withClaim(state: HostState, { rootUuid, allocations }: PendingClaim): HostState {
  const { index, host, aggregates, root, traits, inventories, recentFailures, quarantine, leased, reserved } = state;
  const providers = state.providers?.withUse(allocations);
  const { free, freeAtOnce } = providers?.amounts() ?? freeWithout(state, allocations[rootUuid] ?? {});
  const isHere = rootUuid === root.uuid;
  // In the order of `readHost`, so that filters meet objects of one layout.
  return {
    index,
    host,
    aggregates,
    root,
    traits,
    inventories,
    free,
    freeAtOnce,
    instances: state.instances + (isHere ? 1 : 0),
    buildsInProgress: state.buildsInProgress + (isHere ? 1 : 0),
    recentFailures,
    quarantine: quarantine && isHere ? { ...quarantine, isOpen: false } : quarantine,
    leased,
    reserved,
    providers,
  };
}

/** The state of a host as it would be without a claim that is made there. */
export function withoutClaim(state: HostState, claim: PendingClaim): HostState {
  const allocations = Object.fromEntries(
    Object.entries(claim.allocations).map(([uuid, resources]) => [uuid, negated(resources)]),
  );
  const { buildsInProgress, quarantine } = state;
  const instances = state.instances - (claim.rootUuid === state.root.uuid ? 1 : 0);
  return { ...withClaim(state, { ...claim, allocations }), instances, buildsInProgress, quarantine };
}

/** The state of a host without amounts that are kept from a request: no instance of any. */
export function withAmountsKept(state: HostState, claim: PendingClaim, by: string): HostState {
  const { instances, buildsInProgress, quarantine, reserved: before } = state;
  const amounts = Object.values(claim.allocations).reduce(addResources, before?.amounts ?? NOTHING);
  const reserved = { amounts, by: before ? `${before.by} and ${by}` : by };
  return { ...withClaim(state, claim), instances, buildsInProgress, quarantine, reserved };
}

/**
 * The state of a host for whoever has a claim there and replaces it: what it holds is its own to use, even where the host
 * has more in use than its capacity.
 */
export function withoutOwnClaim(state: HostState, claim: PendingClaim): HostState {
  const beyond = (uuid: string, name: string) => Math.max(0, -freeOn(state, uuid, name));
  const allocations = Object.fromEntries(
    Object.entries(claim.allocations).map(([uuid, resources]) => [
      uuid,
      Object.fromEntries(Object.entries(resources).map(([name, amount]) => [name, amount + beyond(uuid, name)])),
    ]),
  );
  return withoutClaim(state, { ...claim, allocations });
}

/** Free amount of a class on one of a host's providers. */
export function freeOn({ free, root, providers }: HostState, uuid: string, name: string): number {
  if (!providers) return uuid === root.uuid ? (free[name] ?? 0) : 0;
  const inventory = providers.provider(uuid)?.inventories[name];
  return inventory ? capacityOf(inventory) - (providers.usage(uuid)[name] ?? 0) : 0;
}

/** True if two states of a host are equal to every filter, weigher and search. */
export function isSameState(a: HostState, b: HostState): boolean {
  return (
    a.host === b.host &&
    isSameList(a.aggregates, b.aggregates) &&
    a.instances === b.instances &&
    a.buildsInProgress === b.buildsInProgress &&
    a.recentFailures === b.recentFailures &&
    a.quarantine?.isOpen === b.quarantine?.isOpen &&
    isSameAmounts(a.leased ?? NOTHING, b.leased ?? NOTHING) &&
    isSameProvider(a.root, b.root) &&
    (a.providers && b.providers
      ? a.providers.isSame(b.providers)
      : a.providers === b.providers && isSameAmounts(a.free, b.free))
  );
}

const NOTHING: Resources = {};

/** True if two lists have the same rows. */
export function isSameList<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((one, i) => one === b[i]);
}

function freeWithout({ free: before }: HostState, taken: Resources): Pick<HostState, 'free' | 'freeAtOnce'> {
  const free: Record<string, number> = {};
  for (const name in before) free[name] = (before[name] as number) - (taken[name] ?? 0);
  return { free, freeAtOnce: free };
}
