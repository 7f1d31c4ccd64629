import type { Consumer } from '#libs/domain/consumer';
import { groupKey } from '#libs/domain/server-group';

/** Groups, of gangs or by name, that lose a member when these consumers leave. */
export function harmedGroups(leaving: Iterable<Consumer>): ReadonlySet<string> {
  const groups = new Set<string>();
  for (const consumer of leaving) {
    const group = groupOf(consumer);
    if (group !== undefined) groups.add(group);
  }
  return groups;
}

/**
 * The order in which consumers that might leave a host are put back: those of a higher priority first. Of one priority, members
 * of groups that lose nobody yet come before all others, the group with the fewest here first and each group as a whole, so that
 * those left over belong to as few groups as possible: one whole gang goes rather than one member of many. Then come members of
 * groups that lose somebody anyway, and instances that belong to none; the order of `among` decides the rest.
 */
export function putBackOrder(
  among: readonly Consumer[],
  harmed: ReadonlySet<string>,
  priorityOf: (consumer: Consumer) => number,
): Consumer[] {
  const here = new Map<string, number>();
  for (const consumer of among) {
    const group = groupOf(consumer);
    if (group !== undefined) here.set(group, (here.get(group) ?? 0) + 1);
  }
  const isWhole = (group: string | undefined) => group !== undefined && !harmed.has(group);
  return among.toSorted((a, b) => {
    const [first, second] = [groupOf(a), groupOf(b)];
    const byPriority = priorityOf(b) - priorityOf(a);
    if (byPriority !== 0 || first === second) return byPriority;
    const byHarm = Number(isWhole(second)) - Number(isWhole(first));
    if (byHarm !== 0 || first === undefined || second === undefined || !isWhole(first)) return byHarm;
    return (here.get(first) ?? 0) - (here.get(second) ?? 0) || (first < second ? -1 : 1);
  });
}

function groupOf({ projectId, groupId }: Consumer): string | undefined {
  return groupId === undefined ? undefined : groupKey(projectId, groupId);
}
