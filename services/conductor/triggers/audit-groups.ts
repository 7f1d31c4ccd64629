import type { Consumer } from '#libs/domain/consumer';
import type { Instance } from '#libs/domain/instance';
import { instanceOfConsumer } from '#libs/domain/moves/migration';
import { groupKey, type ServerGroup } from '#libs/domain/server-group';
import { groupBy } from '#libs/runtime/group-by';
import type { Conductor } from '../conductor';
import { openRequest } from '../steps/claims';
import { keepDoubt } from '../steps/note-doubt';

/** A place of a member: where it is, or, kept by its move, where it may go back to. */
export interface Place {
  readonly uuid: string;
  readonly projectId: string;
  readonly groupId: string;
  readonly host: string;
  readonly isKept: boolean;
  readonly claimToken: number;
}

/** The places that claims take in groups. */
export function placesOf(consumers: readonly Consumer[]): readonly Place[] {
  return consumers.flatMap((consumer) => {
    const { groupId, groupHost: host, groupKept, owner, projectId, claimToken } = consumer;
    if (groupId === undefined || host === undefined || owner !== 'conductor') return [];
    return [
      { uuid: instanceOfConsumer(consumer), projectId, groupId, host, isKept: groupKept !== undefined, claimToken },
    ];
  });
}

/** A member that is where the policy of its group does not let it be, and why. */
export interface Misplaced {
  readonly uuid: string;
  readonly host: string;
  readonly message: string;
}

/**
 * The members that break the hard policy of their group. No claim does; but what goes back from a move, or runs and is claimed again, is let
 * in by force. A move is one place at a time: a member that is on one may be at either end.
 */
export function misplacedIn({ id, policy, maxPerHost }: ServerGroup, places: readonly Place[]): readonly Misplaced[] {
  if (policy === 'affinity') return partedFrom(id, places);
  return policy === 'anti-affinity' ? tooMany(id, places, Math.max(1, maxPerHost)) : [];
}

/** Those that can't be on the host that most of them are on. */
function partedFrom(id: string, places: readonly Place[]): readonly Misplaced[] {
  const members = [...groupBy(places, ({ uuid }) => uuid)].map(([, ends]) => ends);
  const hosts = [...new Set(places.map(({ host }) => host))].sort();
  const countOn = (host: string) => members.filter((ends) => ends.some((end) => end.host === host)).length;
  const most = hosts.reduce((best, host) => (countOn(host) > countOn(best) ? host : best), hosts[0] ?? '');
  const message = `most members of affinity group '${id}' are on ${most}`;
  return members
    .filter((ends) => !ends.some(({ host }) => host === most))
    .map((ends) => ends.find(({ isKept }) => !isKept) ?? (ends[0] as Place))
    .map(({ uuid, host }) => ({ uuid, host, message }));
}

/** On each host those that came last. */
function tooMany(id: string, places: readonly Place[], most: number): readonly Misplaced[] {
  return [...groupBy(places, ({ host }) => host)].flatMap(([host, there]) => {
    const members = [...groupBy(there, ({ uuid }) => uuid)].map(([, [first]]) => first as Place);
    const message = `${host} has ${members.length} members of anti-affinity group '${id}', and may have ${most}`;
    const last = members.toSorted((a, b) => a.claimToken - b.claimToken).slice(most);
    return last.map(({ uuid }) => ({ uuid, host, message }));
  });
}

/** Shows members of hard groups that break their policy (`berth audit`). The rules of a group are those that a member was claimed by. */
export async function auditGroups(c: Conductor, places: readonly Place[]): Promise<void> {
  const groups = [...groupBy(places, ({ projectId, groupId }) => groupKey(projectId, groupId))].map(([, all]) => all);
  const together = groups.filter((all) => all.length > 1);
  for (let from = 0; from < together.length; from += READ_AT_ONCE) {
    const some = together.slice(from, from + READ_AT_ONCE);
    const records = await c.instances.get(some.map(([first]) => (first as Place).uuid));
    const byUuid = new Map(records.map((record) => [record.uuid, record]));
    for (const all of some) {
      const group = rulesOf(c, byUuid.get((all[0] as Place).uuid));
      for (const one of group ? misplacedIn(group, all) : []) await show(c, one);
    }
  }
}

const READ_AT_ONCE = 500;

async function show(c: Conductor, { uuid, host, message }: Misplaced): Promise<void> {
  const fields = { event: 'doubt', finding: 'group_broken', instance_uuid: uuid, host, reason: message };
  c.log.warn(fields, 'server group policy violated');
  await keepDoubt(c, 'group_broken', { instanceUuid: uuid, host, message });
}

function rulesOf(c: Conductor, record: Instance | undefined): ServerGroup | undefined {
  return record && openRequest(c, record.allocationRequest)?.group;
}
