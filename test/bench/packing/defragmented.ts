import { defragmenting, roomFor } from '#libs/client/rebalance/defragment';
import { afterMove, type Fleet } from '#libs/client/rebalance/plan';
import type { CoresAndRam, TraceEvent } from '../../../services/cli/trace/timeline';
import type { PendingClaim } from '../../../services/scheduler/fleet/pending-claims';
import { PackedFleet } from './packed-fleet';

/** Number of moves, as shares of the running VMs. */
const SHARES = [0.01, 0.02, 0.05, 0.1] as const;
/** Share of all requests from which a shape counts as frequent. */
const OFTEN = 0.01;

/**
 * The capacity that moves buy: in the middle of a trace's time, on this many hosts, the number of further VMs of the
 * largest frequent shape that fit, before moves and after `berth rebalance --defragment` has moved some running VMs.
 */
export function defragmented(events: readonly TraceEvent[], hosts: readonly CoresAndRam[], profile: string) {
  const fleet = fleetInTheMiddle(events, hosts, profile);
  const { cores, ram } = largestOften(events);
  const shape = { VCPU: cores, MEMORY_MB: ram };
  const running = fleet.instances.length;
  const { moves } = defragmenting(fleet, Math.ceil(running * Math.max(...SHARES)));
  const hostOf = new Map(fleet.instances.map(({ uuid, host }) => [uuid, host]));
  const roomAfter = (count: number) => {
    const made = moves.slice(0, count).map(({ instanceUuid: uuid, targetHost: to }) => {
      return { uuid, from: hostOf.get(uuid) ?? '', to };
    });
    return roomFor(shape, made.reduce(afterMove, fleet).hosts);
  };
  const rooms = SHARES.map((share) => [`room_after_${100 * share}_percent`, roomAfter(Math.ceil(running * share))]);
  return {
    running,
    room_before: roomAfter(0),
    ...(Object.fromEntries(rooms) as Record<string, number>),
    moves: moves.length,
  };
}

function fleetInTheMiddle(events: readonly TraceEvent[], hosts: readonly CoresAndRam[], profile: string): Fleet {
  const packed = new PackedFleet(hosts, profile);
  const claims = new Map<string, { readonly claim: PendingClaim; readonly vm: CoresAndRam }>();
  const middle = (events.at(-1)?.atDays ?? 0) / 2;
  for (const { kind, vm, atDays } of events) {
    if (atDays > middle) break;
    const known = claims.get(vm.vmId);
    if (kind === 'departure' && known) packed.remove(known.claim);
    if (kind === 'departure') claims.delete(vm.vmId);
    const claim = kind === 'departure' ? undefined : packed.place(vm);
    if (claim) claims.set(vm.vmId, { claim, vm });
  }
  const instances = [...claims].map(([uuid, { claim, vm }]) => {
    const resources = { VCPU: vm.cores, MEMORY_MB: vm.ram };
    return { uuid, host: `host-${claim.hostIndex}`, resources, isMovable: true };
  });
  const there: Fleet['hosts'][number][] = [];
  packed.forEachHost(({ host: { name }, free }) => there.push({ name, isOpen: true, free, capacity: free }));
  return { hosts: there, instances };
}

function largestOften(events: readonly TraceEvent[]): CoresAndRam {
  const counts = new Map<string, { readonly vm: CoresAndRam; count: number }>();
  const arrivals = events.filter(({ kind }) => kind !== 'departure');
  for (const { vm } of arrivals) {
    const key = `${vm.cores}/${vm.ram}`;
    const known = counts.get(key);
    if (known) known.count += 1;
    else counts.set(key, { vm, count: 1 });
  }
  const often = [...counts.values()].filter(({ count }) => count >= OFTEN * arrivals.length).map(({ vm }) => vm);
  return often.reduce((most, vm) => (vm.cores > most.cores ? vm : most), { cores: 0, ram: 0 });
}
