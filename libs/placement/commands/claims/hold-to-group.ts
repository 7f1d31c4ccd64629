import {
  bindingLevels,
  groupKey,
  isForbidden,
  isParted,
  isSkewed,
  type Membership,
} from '../../../domain/server-group';
import type { ConsumerWrite, RefusedCommit } from '../../port/placement-store';
import { counters } from '../tables';
import type { Draft } from './draft';
import { countersOfWrite, domainOf } from './group-counters';

/**
 * Domains must keep so many members that this many more may join the claim's own before anybody has to look again. (Without
 * it a group that may be very uneven would compare all its domains in every claim.)
 */
const SPARE_MEMBERS = 64;

/** Holds a consumer to its group's rules and counts it as a member; why it may not join, or undefined. */
export function joinGroup(draft: Draft, write: ConsumerWrite, membership: Membership): RefusedCommit | undefined {
  const refusal = { kind: 'group', groupId: membership.group.id, host: membership.host } as const;
  const key = groupKey(write.projectId, membership.group.id);
  if (!draft.terms.force) {
    const isRefused =
      !holdToPolicy(draft, key, membership, refusal) ||
      !holdToSpread(draft, key, membership) ||
      !holdWithin(draft, key, membership);
    if (isRefused) return refusal;
  }
  const member = countersOfWrite(write);
  if (member) draft.countMember(member, 1);
  return undefined;
}

/**
 * Affinity: at least one member here, or none anywhere. Anti-affinity: fewer than `maxPerHost` here. The place that a member on
 * a move may go back to counts as the member does. False when what is known forbids it.
 */
function holdToPolicy(draft: Draft, key: string, { group, host }: Membership, refusal: RefusedCommit): boolean {
  if (group.policy !== 'affinity' && group.policy !== 'anti-affinity') return true;
  const names = {
    members: counters.membersOf(key),
    here: counters.membersOn(key, host),
    kept: counters.keptOf(key),
    keptHere: counters.keptOn(key, host),
  };
  const keptHere = exactly(draft, names.keptHere, key);
  if (group.policy === 'anti-affinity') {
    draft.bound(key, names.here, { most: Math.max(1, group.maxPerHost) - keptHere - 1 }, refusal);
    return true;
  }
  const kept = exactly(draft, names.kept, key);
  const [members, here] = [draft.count(names.members, key), draft.count(names.here, key)];
  const isRefused = isForbidden(group, { members, here, kept, keptHere });
  if (isRefused) {
    draft.bound(key, names.here, { most: here });
    draft.bound(key, names.members, { least: Math.min(1, members) });
  } else if (here > 0) draft.bound(key, names.here, { least: 1 });
  else draft.bound(key, names.members, { most: 0 });
  return !isRefused;
}

/**
 * Spread: once the consumer has joined, no domain has fewer members than `least`, and its own no more than `least` and the
 * allowed skew, however the moves under way end. False when what is known forbids it.
 */
function holdToSpread(draft: Draft, key: string, { group, spread: place }: Membership): boolean {
  if (!group.spread) return true;
  if (!place) return false;
  const { by, maxSkew } = group.spread;
  const hasKept = draft.count(counters.keptOf(key), key) > 0;
  if (!hasKept) draft.bound(key, counters.keptOf(key), { most: 0 });
  // Members on a move may go back to a domain, or leave the one that they have come to.
  const unsettled = (name: string) => (hasKept ? exactly(draft, name, key) : 0);
  const read = (domain: string) => {
    const name = counters.membersIn(key, { by, domain });
    const members = draft.count(name, key);
    const returning = unsettled(counters.keptIn(key, { by, domain }));
    const leaving = unsettled(counters.passingIn(key, { by, domain }));
    return { name, returning, leaving, most: members + returning, least: members - leaving };
  };
  const here = read(place.domain);
  const elsewhere = place.among.filter((domain) => domain !== place.domain);
  const others = new Map(elsewhere.map((domain) => [domain, read(domain)]));
  if (isSkewed(group.spread, place, (domain) => others.get(domain) ?? here)) {
    for (const { name } of [here, ...others.values()]) exactly(draft, name, key);
    return false;
  }
  const fewest = Math.min(here.least + 1, ...[...others.values()].map((one) => one.least));
  const least = Math.min(fewest, here.most + SPARE_MEMBERS - maxSkew);
  const most = least + maxSkew;
  draft.bound(key, here.name, { least: least - 1 + here.leaving, most: most - 1 - here.returning });
  if (least > 0) for (const one of others.values()) draft.bound(key, one.name, { least: least + one.leaving });
  return true;
}

/**
 * Within: a member here, or none anywhere; and none here that a move may take back elsewhere. False when what is known forbids
 * it.
 */
function holdWithin(draft: Draft, key: string, membership: Membership): boolean {
  if (!bindingLevels(membership.group)) return true;
  const domain = domainOf(membership);
  if (!domain) return false;
  const names = { members: counters.membersOf(key), here: counters.membersIn(key, domain) };
  const [members, here] = [draft.count(names.members, key), draft.count(names.here, key)];
  const passing = exactly(draft, counters.passingIn(key, domain), key);
  const isRefused = isParted({ members, here, passing });
  if (isRefused) {
    draft.bound(key, names.here, { most: here });
    draft.bound(key, names.members, { least: Math.min(1, members) });
  } else if (here > 0) draft.bound(key, names.here, { least: 1 });
  else draft.bound(key, names.members, { most: 0 });
  return !isRefused;
}

/** A counter that must not move. */
function exactly(draft: Draft, name: string, group: string): number {
  const count = draft.count(name, group);
  draft.bound(group, name, count > 0 ? { least: count, most: count } : { most: 0 });
  return count;
}
