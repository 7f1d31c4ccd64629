import type { Allocations } from '#libs/domain/consumer';
import { addResources, type Resources } from '#libs/domain/inventory';
import type { Effort } from '#libs/placement/search/assignments';
import { candidatesInTree } from '#libs/placement/search/find-candidates';
import { planOf } from '#libs/placement/search/plan';
import type { Candidate } from '#libs/placement/search/query';
import { type Nearness, queryFromRequestSpec } from '#libs/placement/search/query';
import { chooseDevices } from '../devices/choose-devices';
import { devicesNear, nearnessesFor } from '../devices/device-nearness';
import { asksDevices, compileDevices } from '../devices/devices-asked';
import { askedBy } from '../filters/asked-by';
import type { Reason } from '../filters/filter';
import { preferredDemands, refusalOn } from '../fleet/host-capacity';
import { HostProviders } from '../fleet/host-providers';
import type { HostState } from '../fleet/host-state';
import { type EquivalenceClass, withoutPreferred } from '../request/equivalence-class';

/** Allocations of an instance on a host: required ones, and preferred ones as far as the host has them. */
export interface HostCandidate extends Candidate {
  /** The preferred classes that are in it. */
  readonly preferred: readonly string[];
}

/** Name of the candidate search in a diagnosis, beside the filters. It decides last. */
export const CANDIDATES = 'candidates';

/** Why the search refuses a host that passes all filters. */
export function noCandidate({ origins, resources, requestGroups, deviceRequests }: EquivalenceClass): Reason {
  const keys = [...new Set([...Object.values(origins.groups).flat(), ...(origins.affinity ?? [])])];
  const by = askedBy(keys.length > 0 ? keys : undefined);
  const groups = [...(Object.keys(resources).length > 0 ? [{ suffix: '', resources }] : []), ...requestGroups];
  const asked = groups.slice(0, MAX_GROUPS_SAID).map(wordsOf).join('; ');
  const more = groups.length > MAX_GROUPS_SAID ? '; …' : '';
  const devices = deviceRequests.length > 0 ? `; devices for ${deviceRequests.map(({ name }) => name).join(', ')}` : '';
  return {
    symbol: 'no_candidate',
    phrase: `have no providers that give all groups what they ask (${asked}${more}${devices})${by}`,
  };
}

/** `_gpu: 2 VGPU`; what is asked without a group stands by itself. */
function wordsOf({ suffix, resources }: { readonly suffix: string; readonly resources: Resources }): string {
  const amounts = Object.entries(resources).map(([name, amount]) => `${amount} ${name}`);
  return `${suffix === '' ? '' : `${suffix}: `}${amounts.join(', ') || 'no amount'}`;
}

/** Groups that a sentence names. */
const MAX_GROUPS_SAID = 4;

/** The same for one host, with the groups that no provider of it can meet. */
export function noCandidateSentence(equivalenceClass: EquivalenceClass, host: HostState): string {
  const { requestGroups, origins } = equivalenceClass;
  const required = { ...withoutPreferred(equivalenceClass), ...NO_DEVICES };
  if (asksDevices(equivalenceClass) && searchOn(required, host)) return noDevicesSentence(equivalenceClass, host);
  const isFar = equivalenceClass.deviceAffinity !== undefined && searchOn(anywhere(required), host) !== undefined;
  const alone = { ...anywhere(required), resources: {}, sameSubtrees: [] };
  const unmet = requestGroups.filter((group) => !searchOn({ ...alone, requestGroups: [group] }, host));
  const names = unmet.map((group) => `${wordsOf(group)}${askedBy(origins.groups[group.suffix])}`);
  const own = { ...required, requestGroups: [], sameSubtrees: [] };
  const { resources } = equivalenceClass;
  if (Object.keys(resources).length > 0 && !searchOn(own, host)) names.unshift(wordsOf({ suffix: '', resources }));
  const together = isFar ? farSentence(equivalenceClass) : 'each group by itself is met, not all together';
  const why = names.length > 0 ? `none meets ${names.join(', ')}` : together;
  return `${CANDIDATES}: no providers of the host give all groups what they ask: ${why}`;
}

const NO_DEVICES = { deviceRequests: [], deviceConstraints: [] };

function anywhere(asked: EquivalenceClass): EquivalenceClass {
  return { ...asked, deviceAffinity: undefined };
}

function farSentence({ origins, deviceAffinity }: EquivalenceClass): string {
  return `devices are not near to its NUMA nodes${askedBy(origins.affinity)} (${deviceAffinity?.policy})`;
}

/** Each request of devices by itself passes the filter of devices. */
function noDevicesSentence(asked: EquivalenceClass, host: HostState): string {
  const { deviceConstraints } = asked;
  const required = withoutPreferred(asked);
  if (asked.deviceAffinity && searchOn(anywhere(required), host)) return `${CANDIDATES}: ${farSentence(asked)}`;
  const freely = { ...required, deviceConstraints: [] };
  const values = deviceConstraints.map(({ matchAttribute }) => matchAttribute).join(', ');
  const why =
    deviceConstraints.length > 0 && searchOn(freely, host)
      ? `no devices of equal ${values} do`
      : 'they take of the same devices or counters';
  return `${CANDIDATES}: each request of devices by itself is met, not all together: ${why}`;
}

/** True if more than one provider or group is in play: then passing the filters is not enough. */
export function needsSearch({ requestGroups, deviceRequests }: EquivalenceClass, { providers }: HostState): boolean {
  return providers !== undefined || requestGroups.length > 0 || deviceRequests.length > 0;
}

/**
 * Allocations of an instance of the class on a host that passes the filters: the first candidate of the search. If that
 * one turns out to be taken, the next search, on what the store answered, finds the next. A candidate that takes all that
 * is required from sharing providers does not count: nothing would say on which host the instance is.
 *
 * Preferred classes are taken all at once if there is a way, else one after the other as long as there is one and it is
 * found soon.
 */
export function searchOn(equivalenceClass: EquivalenceClass, host: HostState): HostCandidate | undefined {
  const wanted = preferredOn(equivalenceClass, host);
  const effort: Effort = { steps: 0, isComplete: true };
  let best = searchWith(NONE, equivalenceClass, host, effort);
  // Not by what is preferred: its provider may have a trait that is required, its amount fill up a step.
  if (!best || wanted.length === 0) return best;
  const all = searchWith(wanted, equivalenceClass, host, effort);
  if (all || wanted.length === 1) return all ?? best;
  for (const name of wanted) {
    if (effort.steps > SEARCH.maxStepsPerRoot) return best;
    best = searchWith([...best.preferred, name], equivalenceClass, host, effort) ?? best;
  }
  return best;
}

/** Allocations of an instance on a host without its preferred resources. */
export function requiredOn(equivalenceClass: EquivalenceClass, host: HostState): HostCandidate | undefined {
  return needsSearch(equivalenceClass, host)
    ? searchOn(withoutPreferred(equivalenceClass), host)
    : flatCandidate(host, equivalenceClass.resources, NONE);
}

function searchWith(
  preferred: readonly string[],
  equivalenceClass: EquivalenceClass,
  host: HostState,
  effort: Effort,
): HostCandidate | undefined {
  const { root } = host;
  const forest = host.providers ?? HostProviders.ofRoot(host);
  const resources = amountsWith(preferred, equivalenceClass);
  const query = queryFromRequestSpec({ ...equivalenceClass, resources });
  for (const near of nearnessesFor(equivalenceClass)) {
    const plan = planOf(forest, near ? { ...query, near } : query);
    if (!plan) return undefined;
    const candidates = candidatesInTree(plan, root.uuid, SEARCH, effort);
    const found = firstWhole(candidates, { equivalenceClass, forest, rootUuid: root.uuid, near });
    if (found) return { ...found, preferred };
  }
  return undefined;
}

/** A search on one host. */
interface Searched {
  readonly equivalenceClass: EquivalenceClass;
  readonly forest: HostProviders;
  readonly rootUuid: string;
  readonly near: Nearness | undefined;
}

/** The first candidate that takes of the host itself and leaves it devices for all requests of devices. */
function firstWhole(candidates: Iterable<Candidate>, searched: Searched): Candidate | undefined {
  const { equivalenceClass, forest, rootUuid, near } = searched;
  const required = classesRequired(equivalenceClass);
  for (const candidate of candidates) {
    const isHere = Object.entries(candidate.allocations).some(
      ([uuid, taken]) => forest.provider(uuid)?.rootUuid === rootUuid && required.some((name) => name in taken),
    );
    const whole = isHere ? withDevices(candidate, searched) : undefined;
    if (whole) return whole;
    // On other NUMA nodes it has other devices.
    if (isHere && near === undefined && !sharesCounters(candidate.allocations, forest)) return undefined;
  }
  return undefined;
}

/** A candidate with devices of the host for all requests of devices, beside what it takes; undefined when there is no way. */
function withDevices(candidate: Candidate, searched: Searched): Candidate | undefined {
  const { equivalenceClass: asked, forest, near } = searched;
  if (!asksDevices(asked)) return candidate;
  const mayHave = near && devicesNear(near, candidate, forest);
  const left = forest.withUse(candidate.allocations);
  const choice = chooseDevices(compileDevices(asked), left, candidate.rootUuid, mayHave);
  if (!choice) return undefined;
  const allocations: Record<string, Resources> = { ...candidate.allocations };
  for (const [uuid, amounts] of Object.entries(choice.allocations)) {
    allocations[uuid] = addResources(allocations[uuid] ?? {}, amounts);
  }
  return { ...candidate, allocations, mappings: { ...candidate.mappings, ...choice.mappings } };
}

/** True if a candidate takes of what devices take, too: then another one may leave them enough. */
function sharesCounters(allocations: Allocations, forest: HostProviders): boolean {
  return forest.all.some(({ uuid, parentUuid, device, inventories }) => {
    const own = allocations[uuid] ?? NOTHING;
    const above = allocations[parentUuid ?? ''] ?? NOTHING;
    if (device === undefined) return false;
    return (
      Object.keys(inventories).some((name) => name in own) || Object.keys(device.consumes).some((name) => name in above)
    );
  });
}

const NOTHING: Resources = {};

function classesRequired({ resources, requestGroups }: EquivalenceClass): readonly string[] {
  return [resources, ...requestGroups.map((group) => group.resources)].flatMap(Object.keys);
}

/** A decision must not take long: about 10 ms of search on one host. */
const SEARCH = { maxStepsPerRoot: 10_000, symmetry: 'distinct' } as const;

/** The preferred classes that a host's amounts allow: of a flat host those that an instance takes. */
function preferredOn(equivalenceClass: EquivalenceClass, host: HostState): readonly string[] {
  for (const _ in equivalenceClass.preferredResources) {
    return preferredDemands(equivalenceClass)
      .filter((demand) => refusalOn(host, demand) === undefined)
      .map(({ resourceClass }) => resourceClass);
  }
  return NONE;
}

const NONE: readonly string[] = [];

/** The amounts of the group without a suffix, once some preferred classes are in it: the same object each time. */
function amountsWith(preferred: readonly string[], equivalenceClass: EquivalenceClass): Resources {
  const { resources, preferredResources } = equivalenceClass;
  if (preferred.length === 0) return resources;
  let made = amountsMade.get(preferredResources);
  if (made?.resources !== resources) {
    made = { resources, byClasses: new Map() };
    amountsMade.set(preferredResources, made);
  }
  const key = preferred.join();
  const known = made.byClasses.get(key);
  if (known !== undefined) return known;
  const more = Object.fromEntries(preferred.map((name) => [name, preferredResources[name] as number]));
  const amounts = addResources(resources, more);
  made.byClasses.set(key, amounts);
  return amounts;
}

/** By the preferred amounts of a class, which are immutable. */
const amountsMade = new WeakMap<Resources, { resources: Resources; byClasses: Map<string, Resources> }>();

/**
 * Allocations of instances on flat hosts: all from the root, as capacity and traits filters ensure that it fits. The last
 * one of each host is kept: requests of one class come in a row, and an object with keys of its own is dear to make, and to
 * keep with each claim.
 */
export class FlatCandidates {
  private readonly last = new Map<number, KeptCandidate>();

  on(host: HostState, equivalenceClass: EquivalenceClass): HostCandidate {
    const { index, root } = host;
    const preferred = preferredOn(equivalenceClass, host);
    const resources = amountsWith(preferred, equivalenceClass);
    const kept = this.last.get(index);
    if (kept?.resources === resources && kept.candidate.rootUuid === root.uuid) return kept.candidate;
    const candidate = flatCandidate(host, resources, preferred);
    this.last.set(index, { resources, candidate });
    return candidate;
  }
}

interface KeptCandidate {
  readonly resources: Resources;
  readonly candidate: HostCandidate;
}

function flatCandidate({ root }: HostState, resources: Resources, preferred: readonly string[]): HostCandidate {
  return { rootUuid: root.uuid, allocations: { [root.uuid]: resources }, mappings: {}, preferred };
}
