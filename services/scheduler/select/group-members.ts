import type { ServerGroup } from '#libs/domain/server-group';
import type { Fleet } from '../fleet/fleet';

/** How many members of a server group are on each host, by host index. */
export class GroupMembers {
  private readonly counts = new Map<number, number>();

  constructor(readonly group: ServerGroup) {}

  get perHost(): ReadonlyMap<number, number> {
    return this.counts;
  }

  add(index: number): void {
    this.counts.set(index, (this.counts.get(index) ?? 0) + 1);
  }

  remove(index: number): void {
    const rest = (this.counts.get(index) ?? 0) - 1;
    if (rest > 0) this.counts.set(index, rest);
    else this.counts.delete(index);
  }

  /** Members on the host that has the most of them. */
  most(): number {
    return Math.max(0, ...this.counts.values());
  }
}

/** The members of a group that hold claims or are about to, without the instances `except`. */
export function membersOf(fleet: Fleet, group: ServerGroup, except: ReadonlySet<string>): GroupMembers {
  const members = new GroupMembers(group);
  const counted = new Set(except);
  for (const uuid of fleet.view.groupMembers(group.id)) {
    if (counted.has(uuid)) continue;
    counted.add(uuid);
    const host = fleet.hostOfConsumer(uuid);
    if (host) members.add(host.index);
  }
  for (const claim of fleet.pending.inGroup(group.id)) {
    const host = counted.has(claim.consumerUuid) ? undefined : fleet.hostOfAllocations(claim.allocations);
    if (host) members.add(host.index);
  }
  return members;
}
