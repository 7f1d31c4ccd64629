import type { Consumer } from '../../../domain/consumer';
import { countedBy, type GroupDomain, groupKey, type KeptPlace, type Membership } from '../../../domain/server-group';
import type { ConsumerWrite } from '../../port/placement-store';
import { counters } from '../tables';

/** The counters of a group's members, or of the places that are kept for them, in which one consumer counts. */
export interface MemberCounters {
  readonly group: string;
  readonly names: readonly string[];
}

/** The counters in which a consumer counts. */
export function countersOfMember(consumer: Consumer): MemberCounters | undefined {
  const { projectId, groupId, groupHost, groupDomain, groupKept } = consumer;
  if (groupId === undefined || groupHost === undefined) return undefined;
  const key = groupKey(projectId, groupId);
  return groupKept ? keptCounters(key, groupHost, groupDomain, groupKept) : memberCounters(key, groupHost, groupDomain);
}

/** The counters in which a consumer counts once it is written. */
export function countersOfWrite(write: ConsumerWrite): MemberCounters | undefined {
  const { projectId, group: membership } = write;
  if (!membership) return undefined;
  const { group, host, kept } = membership;
  const key = groupKey(projectId, group.id);
  const domain = domainOf(membership);
  return kept ? keptCounters(key, host, domain, kept) : memberCounters(key, host, domain);
}

/** The domain that a member counts for. */
export function domainOf({ group, spread }: Membership): GroupDomain | undefined {
  const by = countedBy(group);
  return by === undefined ? undefined : spread && { by, domain: spread.domain };
}

function memberCounters(group: string, host: string, domain: GroupDomain | undefined): MemberCounters {
  const names = [counters.membersOf(group), counters.membersOn(group, host)];
  if (domain) names.push(counters.membersIn(group, domain));
  return { group, names };
}

/** A member that moves within its domain counts there whatever becomes of the move. */
function keptCounters(
  group: string,
  host: string,
  domain: GroupDomain | undefined,
  { movedTo }: KeptPlace,
): MemberCounters {
  const names = [counters.keptOf(group), counters.keptOn(group, host)];
  if (domain && domain.domain !== movedTo) {
    names.push(counters.keptIn(group, domain));
    if (movedTo !== '') names.push(counters.passingIn(group, { by: domain.by, domain: movedTo }));
  }
  return { group, names };
}

/** All counters that decide whether a write may join its group. */
export function countersFor(write: ConsumerWrite): readonly string[] {
  const { projectId, group: membership } = write;
  if (!membership) return [];
  const { group, host, spread } = membership;
  const key = groupKey(projectId, group.id);
  const by = countedBy(group);
  const domains = by === undefined || !spread ? [] : [spread.domain, ...spread.among].map((domain) => ({ by, domain }));
  return [
    counters.membersOf(key),
    counters.membersOn(key, host),
    counters.keptOf(key),
    counters.keptOn(key, host),
    ...domains.flatMap((one) => [
      counters.membersIn(key, one),
      counters.keptIn(key, one),
      counters.passingIn(key, one),
    ]),
  ];
}
