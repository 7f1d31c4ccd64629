import { ZONE_KEY } from './grouping/aggregate';

/**
 * Nova's server group policies. The commit of a claim enforces `affinity` and `anti-affinity`; the soft ones only
 * weigh. `maxPerHost` limits the members on one host and belongs to anti-affinity alone.
 */
export const GROUP_POLICIES = ['affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity'] as const;

export type GroupPolicy = (typeof GROUP_POLICIES)[number];

export interface ServerGroup extends GroupRules {
  readonly id: string;
}

/** A group in a request: with its rules, or by name alone, without a policy, when a stored group has the rules. */
export type NamedGroup =
  | ServerGroup
  | {
      readonly id: string;
      readonly policy: undefined;
      readonly maxPerHost: number;
      readonly spread?: undefined;
      readonly within?: undefined;
    };

/** Placement rules for a group's members. */
export interface GroupRules {
  readonly policy: GroupPolicy;
  readonly maxPerHost: number;
  /** In addition to the policy. */
  readonly spread?: Spread | undefined;
  /** Likewise; a group has one of the two. */
  readonly within?: Within | undefined;
}

/**
 * Keeps members together in one domain: the values of names in the metadata of host aggregates, nested from the outside
 * in, such as block and rack (Kueue's topology-aware scheduling, KEP-4671). The outer `required` levels bind every member
 * for good; the inner ones are preferred.
 */
export interface Within {
  readonly levels: readonly string[];
  readonly required: number;
}

/** Limit of the levels of a group. */
export const MAX_LEVELS = 4;

/** The levels that bind members; undefined when none does. */
export function bindingLevels({ within }: Pick<GroupRules, 'within'>): readonly string[] | undefined {
  return within && within.required > 0 ? within.levels.slice(0, within.required) : undefined;
}

/** The name of the domains that members count in: one name, or nested ones. Undefined when the rules name none. */
export function countedBy(rules: Pick<GroupRules, 'spread' | 'within'>): string | undefined {
  return rules.spread?.by ?? bindingLevels(rules)?.join('/');
}

/**
 * Spreads members over domains: the values of one metadata name of host aggregates, such as `availability_zone` or
 * `rack`. No domain has more than `maxSkew` members more than any other (Kubernetes' topologySpreadConstraints, with
 * whenUnsatisfiable DoNotSchedule); hosts outside all domains take none.
 */
export interface Spread {
  readonly by: string;
  readonly maxSkew: number;
  /** True when domains whose hosts are all down or disabled count as well: members wait until they are back. */
  readonly countUnavailable?: boolean | undefined;
}

/** A domain, and the metadata name it belongs to. */
export interface GroupDomain {
  readonly by: string;
  readonly domain: string;
}

/** A consumer's membership of a group, on a host. */
export interface Membership {
  readonly group: ServerGroup;
  readonly host: string;
  /** For a group that spreads or stays within a domain: the host's domain; and when it spreads, all that members may go to. */
  readonly spread?: SpreadPlace | undefined;
  /** Set for a place that a member has left and may return to. */
  readonly kept?: KeptPlace | undefined;
}

/**
 * The place that a migration keeps for a member's return; `movedTo` is the domain where the member is meanwhile, '' for
 * none.
 */
export interface KeptPlace {
  readonly movedTo: string;
}

/** A domain among all eligible ones. */
export interface SpreadPlace {
  readonly domain: string;
  readonly among: readonly string[];
}

/** A group's settings, as given at its creation. */
export interface GroupSettings extends GroupRules {
  readonly metadata: Readonly<Record<string, string>>;
}

/** A group stored by itself; requests of its project that name it follow its rules. */
export interface StoredGroup extends GroupSettings {
  readonly projectId: string;
  /** Unique in its project. */
  readonly name: string;
  readonly createdAtMs: number;
}

/** Limit of the stored groups of one project. */
export const MAX_GROUPS_PER_PROJECT = 1_000;

/** The key of a stored group: a word. */
export function storedGroupKey(projectId: string, name: string): string {
  return `${encodeURIComponent(projectId)}:${encodeURIComponent(name)}`;
}

/** Counts of a group's members in all and on one host: members, and places that members may return to. */
export interface GroupCounts {
  readonly members: number;
  readonly here: number;
  readonly kept: number;
  readonly keptHere: number;
}

/**
 * True when a group's policy forbids one more member on a host. Filters and the store's commits share it, so a commit
 * never keeps refusing a host that the filter passes. A place that a member may return to counts as the member does. A
 * group that forced claims put on several hosts keeps growing where it is.
 */
export function isForbidden(group: ServerGroup, { members, here, kept, keptHere }: GroupCounts): boolean {
  if (group.policy === 'affinity') return (members > 0 && here === 0) || kept > keptHere;
  return group.policy === 'anti-affinity' && here + keptHere >= Math.max(1, group.maxPerHost);
}

/** Counts of a group that stays within a domain: members in all, in the domain, and there on a move that may go back. */
export interface WithinCounts {
  readonly members: number;
  readonly here: number;
  readonly passing: number;
}

/**
 * True when one more member in a domain would part a group that stays within one. A domain that its only member may leave
 * again is no home yet. Filters and the store's commits share it. A group that forced claims parted keeps growing where it is.
 */
export function isParted({ members, here, passing }: WithinCounts): boolean {
  return (members > 0 && here === 0) || passing > 0;
}

/**
 * Bounds of a domain's members once all moves have ended: with everyone who may return there, and without everyone who
 * may leave.
 */
export interface DomainCounts {
  readonly most: number;
  readonly least: number;
}

/**
 * True when one more member in a domain could exceed the skew over the domain with the fewest, however the moves under
 * way end. Filters and the store's commits share it.
 */
export function isSkewed({ maxSkew }: Spread, place: SpreadPlace, countsIn: (domain: string) => DomainCounts): boolean {
  const here = countsIn(place.domain);
  const others = place.among.filter((domain) => domain !== place.domain).map((domain) => countsIn(domain).least);
  return here.most + 1 - Math.min(here.least + 1, ...others) > maxSkew;
}

/** The counts of a domain without moves. */
export function settled(members: number): DomainCounts {
  return { most: members, least: members };
}

/** The key of a group's counters. Groups belong to projects; equal ids of two projects are two groups. */
export function groupKey(projectId: string, groupId: string): string {
  return `${Buffer.byteLength(projectId)}:${projectId}${groupId}`;
}

/** A cell's id for a group of the fleet, distinct from its own groups. */
export function fleetGroupId(name: string): string {
  return `${FLEET_GROUP}${name}`;
}

/** The name of a fleet group from its id in a cell. */
export function nameOfFleetGroup(id: string): string {
  return id.startsWith(FLEET_GROUP) ? id.slice(FLEET_GROUP.length) : id;
}

/** No name of a stored group has a colon. */
const FLEET_GROUP = 'top:';

/**
 * True when all members of a group must be in one cell: an affinity group is on one host, and a spread compares
 * domains, of which a cell sees only its own. A spread over zones is exempt, since cells report their zones to the top.
 * Hosts of different cells are different, so each cell enforces the other rules for itself.
 */
export function isOfOneCell(rules: Pick<GroupRules, 'policy' | 'spread' | 'within'>): boolean {
  return (
    rules.policy === 'affinity' || rules.within !== undefined || (rules.spread !== undefined && !isOverZones(rules))
  );
}

/** True when a group spreads over the zones of all cells, which the top balances. */
export function isOverZones<
  G extends { readonly policy: GroupPolicy | undefined; readonly spread?: Spread | undefined },
>(group: G | undefined): group is G & { readonly policy: GroupPolicy; readonly spread: Spread } {
  return group?.policy !== undefined && group.policy !== 'affinity' && group.spread?.by === ZONE_KEY;
}
