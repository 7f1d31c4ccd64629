import type { HostSummary } from '#libs/contracts/hosts';
import type { InstanceView } from '#libs/contracts/instance';
import type { InstanceMove } from '#libs/contracts/moves';
import { addResources, capacityOf, negated, type Resources } from '#libs/domain/inventory';

/** A host in a plan. */
export interface PlanHost {
  readonly name: string;
  /** True when instances may be placed there. */
  readonly isOpen: boolean;
  /** The free amounts by resource class. */
  readonly free: Resources;
  /** The capacity when empty. */
  readonly capacity: Resources;
}

/** An instance in a plan. */
export interface PlanInstance {
  readonly uuid: string;
  readonly host: string;
  readonly resources: Resources;
  /** True when it can be moved now. */
  readonly isMovable: boolean;
}

export interface Fleet {
  readonly hosts: readonly PlanHost[];
  readonly instances: readonly PlanInstance[];
}

export interface Move {
  readonly uuid: string;
  readonly from: string;
  readonly to: string;
}

/** Moves to request from a scheduler, and hosts that must not take any. */
export interface Wish {
  readonly moves: readonly InstanceMove[];
  readonly leaveHosts: readonly string[];
}

/** The fleet by amounts alone; the scheduler decides which hosts an instance may go to. */
export function fleetOf(hosts: readonly HostSummary[], instances: readonly InstanceView[]): Fleet {
  return {
    hosts: hosts.map(({ host, up, enabled, quarantinedUntilMs, resources }) => {
      const classes = Object.entries(resources);
      const capacity = Object.fromEntries(classes.map(([name, { inventory }]) => [name, capacityOf(inventory)]));
      const free = Object.fromEntries(classes.map(([name, { used }]) => [name, (capacity[name] ?? 0) - used]));
      return { name: host, isOpen: up && enabled && quarantinedUntilMs === 0, capacity, free };
    }),
    instances: instances
      .filter(({ host, state }) => host !== '' && state !== 'deleted' && state !== 'error')
      .map(({ uuid, host, state, migration, requestSpec }) => {
        const isMovable = (state === 'active' || state === 'stopped') && migration === undefined;
        return { uuid, host, resources: requestSpec.resources, isMovable };
      }),
  };
}

/** The moves that empty some hosts: each instance there moves once, which is the fewest. */
export function emptying({ instances }: Fleet, hosts: readonly string[]): Wish {
  return { moves: anywhere(instances.filter(({ host }) => hosts.includes(host))), leaveHosts: hosts };
}

/** The moves that free a host of some of its instances. */
export function freeing(host: string, uuids: readonly string[]): Wish {
  return { moves: uuids.map((instanceUuid) => ({ instanceUuid, targetHost: '' })), leaveHosts: [host] };
}

/**
 * Moves that lower the fullest host and raise the emptiest: each move is the one that narrows the gap most, until none
 * narrows it by more than `tolerance` (a share of capacity). All are claimed before any has left: an instance that
 * leaves a host frees nothing for another.
 *
 * @param stay  instances that are not moved
 */
export function evening(fleet: Fleet, stay: ReadonlySet<string> = new Set(), tolerance = 0.05): Wish {
  const moves: Move[] = [];
  let now = fleet;
  const room = new Map(fleet.hosts.map(({ name, free }) => [name, free]));
  for (const _ of fleet.instances) {
    const best = narrowing(now, room, tolerance, new Set([...stay, ...moves.map(({ uuid }) => uuid)]));
    if (best === undefined) break;
    const sizes = fleet.instances.find(({ uuid }) => uuid === best.uuid)?.resources ?? {};
    room.set(best.to, addResources(room.get(best.to) ?? {}, negated(sizes)));
    moves.push(best);
    now = afterMove(now, best);
  }
  return { moves: moves.map(({ uuid, to }) => ({ instanceUuid: uuid, targetHost: to })), leaveHosts: [] };
}

/** The fleet after a move. */
export function afterMove({ hosts, instances }: Fleet, { uuid, from, to }: Move): Fleet {
  const moved = instances.find((one) => one.uuid === uuid);
  const sizes = moved?.resources ?? {};
  return {
    hosts: hosts.map((host) => {
      if (host.name === from) return { ...host, free: addResources(host.free, sizes) };
      return host.name === to ? { ...host, free: addResources(host.free, negated(sizes)) } : host;
    }),
    instances: instances.map((one) => (one.uuid === uuid ? { ...one, host: to } : one)),
  };
}

/** The used share of a host's scarcest class, from 0 to 1. */
export function fullness({ free, capacity }: PlanHost): number {
  const shares = Object.entries(capacity).map(([name, most]) => (most > 0 ? 1 - (free[name] ?? 0) / most : 0));
  return Math.max(0, ...shares);
}

export function fits(resources: Resources, free: Resources): boolean {
  return Object.entries(resources).every(([name, amount]) => amount <= (free[name] ?? 0));
}

function narrowing(
  fleet: Fleet,
  room: ReadonlyMap<string, Resources>,
  tolerance: number,
  stay: ReadonlySet<string>,
): Move | undefined {
  const open = fleet.hosts.filter(({ isOpen }) => isOpen);
  const byFullness = open.toSorted((a, b) => fullness(b) - fullness(a) || (a.name < b.name ? -1 : 1));
  const [fullest, emptiest] = [byFullness[0], byFullness.at(-1)];
  if (fullest === undefined || emptiest === undefined || fullest === emptiest) return undefined;
  const gapOf = (hosts: readonly PlanHost[]) => {
    const all = hosts.filter(({ name }) => name === fullest.name || name === emptiest.name).map(fullness);
    return Math.max(...all) - Math.min(...all);
  };
  const gap = gapOf(fleet.hosts);
  const candidates = fleet.instances
    .filter((one) => one.host === fullest.name && one.isMovable && !stay.has(one.uuid))
    .filter(({ resources }) => fits(resources, room.get(emptiest.name) ?? {}))
    .map(({ uuid }) => ({ uuid, from: fullest.name, to: emptiest.name }))
    .map((move) => ({ move, gap: gapOf(afterMove(fleet, move).hosts) }));
  const best = candidates.toSorted((a, b) => a.gap - b.gap || (a.move.uuid < b.move.uuid ? -1 : 1))[0];
  return best && gap - best.gap > tolerance ? best.move : undefined;
}

function anywhere(instances: readonly PlanInstance[]): InstanceMove[] {
  return instances.map(({ uuid }) => ({ instanceUuid: uuid, targetHost: '' }));
}
