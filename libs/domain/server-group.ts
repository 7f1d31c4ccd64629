import { ZONE_KEY } from './grouping/aggregate';

/**
 * Nova's server group policies. `affinity` and `anti-affinity` are kept when the claim is committed, the soft ones only
 * weigh. `maxPerHost` counts members on one host and belongs to anti-affinity alone.
 */
export const GROUP_POLICIES = ['affinity', 'anti-affinity', 'soft-affinity', 'soft-anti-affinity'] as const;

export type GroupPolicy = (typeof GROUP_POLICIES)[number];

export interface ServerGroup extends GroupRules {
  readonly id: string;
}

/** A group as a request names it: with its rules, or by its name alone, without a policy, where a stored group has them. */
export type NamedGroup =
  | ServerGroup
  | { readonly id: string; readonly policy: undefined; readonly maxPerHost: number; readonly spread?: undefined };

/** What a group's members keep to. */
export interface GroupRules {
  readonly policy: GroupPolicy;
  readonly maxPerHost: number;
  /** Besides the policy. */
  readonly spread?: Spread | undefined;
}

/**
 * That members spread over domains, which are the values of one name in the metadata of host aggregates: of
 * `availability_zone`, `rack`, ... In no domain are there more than `maxSkew` members more than in any other (Kubernetes'
 * topologySpreadConstraints, with whenUnsatisfiable DoNotSchedule); hosts in no domain take none.
 */
export interface Spread {
  readonly by: string;
  readonly maxSkew: number;
  /** Domains all of whose hosts are down or disabled count, too: members wait until they are back. */
  readonly countUnavailable?: boolean | undefined;
}

/** A domain, and by what name. */
export interface GroupDomain {
  readonly by: string;
  readonly domain: string;
}

/** That a consumer counts as a member of a group, on a host. */
export interface Membership {
  readonly group: ServerGroup;
  readonly host: string;
  /** Of a group that spreads: the host's domain, and all those that members may go to. */
  readonly spread?: SpreadPlace | undefined;
  /** Given for a place that a member has left and may go back to. */
  readonly kept?: KeptPlace | undefined;
}

/** The place that a migration holds for a member to go back to; `movedTo` is the domain where the member is meanwhile, '' for none. */
export interface KeptPlace {
  readonly movedTo: string;
}

/** A domain among others. */
export interface SpreadPlace {
  readonly domain: string;
  readonly among: readonly string[];
}

/** What whoever makes a group says of it. */
export interface GroupSettings extends GroupRules {
  readonly metadata: Readonly<Record<string, string>>;
}

/** A group that stands by itself: requests of its project that name it keep to its rules. */
export interface StoredGroup extends GroupSettings {
  readonly projectId: string;
  /** Requests name it so; no other group of its project is called this. */
  readonly name: string;
  readonly createdAtMs: number;
}

/** Groups of one project that stand by themselves. */
export const MAX_GROUPS_PER_PROJECT = 1_000;

/** The key of a group that stands by itself: a word. */
export function storedGroupKey(projectId: string, name: string): string {
  return `${encodeURIComponent(projectId)}:${encodeURIComponent(name)}`;
}

/** How many of a group there are, and how many of them on one host: members, and places that members may go back to. */
export interface GroupCounts {
  readonly members: number;
  readonly here: number;
  readonly kept: number;
  readonly keptHere: number;
}

/**
 * True when a group's policy forbids one more member on a host. Filters and the store's commits ask the same: what a filter accepts, the
 * commit does not refuse for ever. A place that a member may go back to counts as the member does. A group that is on several
 * hosts already, because claims were forced, goes on growing where it is.
 */
export function isForbidden(group: ServerGroup, { members, here, kept, keptHere }: GroupCounts): boolean {
  if (group.policy === 'affinity') return (members > 0 && here === 0) || kept > keptHere;
  return group.policy === 'anti-affinity' && here + keptHere >= Math.max(1, group.maxPerHost);
}

/** How many members a domain may come to have: with all that may go back there, and without all that may leave it again. */
export interface DomainCounts {
  readonly most: number;
  readonly least: number;
}

/**
 * True when one member more in a domain could become too many more than there are in the domain that has fewest, however the moves
 * under way end. Filters and the store's commits ask the same.
 */
export function isSkewed({ maxSkew }: Spread, place: SpreadPlace, countsIn: (domain: string) => DomainCounts): boolean {
  const here = countsIn(place.domain);
  const others = place.among.filter((domain) => domain !== place.domain).map((domain) => countsIn(domain).least);
  return here.most + 1 - Math.min(here.least + 1, ...others) > maxSkew;
}

/** The counts of a domain where nothing is on a move. */
export function settled(members: number): DomainCounts {
  return { most: members, least: members };
}

/** What a group's members are counted under: a group belongs to its project, another project's of the same id is another. */
export function groupKey(projectId: string, groupId: string): string {
  return `${Buffer.byteLength(projectId)}:${projectId}${groupId}`;
}

/** What cells call a group of the fleet, so that it is none of their own. */
export function fleetGroupId(name: string): string {
  return `${FLEET_GROUP}${name}`;
}

/** The name of a group of the fleet by what cells call it. */
export function nameOfFleetGroup(id: string): string {
  return id.startsWith(FLEET_GROUP) ? id.slice(FLEET_GROUP.length) : id;
}

/** No name of a stored group has a colon. */
const FLEET_GROUP = 'top:';

/**
 * Whether all members of a group must be in one cell: those of an affinity group are on one host, and a group that spreads
 * compares domains with each other, of which a cell sees its own; but for zones, which cells tell the top of. Hosts of different
 * cells are different, so any other rule is kept by each cell for itself.
 */
export function isOfOneCell(rules: Pick<GroupRules, 'policy' | 'spread'>): boolean {
  return rules.policy === 'affinity' || (rules.spread !== undefined && !isOverZones(rules));
}

/** Whether a group spreads over the zones of all cells, which the top keeps even. */
export function isOverZones<
  G extends { readonly policy: GroupPolicy | undefined; readonly spread?: Spread | undefined },
>(group: G | undefined): group is G & { readonly policy: GroupPolicy; readonly spread: Spread } {
  return group?.policy !== undefined && group.policy !== 'affinity' && group.spread?.by === ZONE_KEY;
}
