import type { TraceVm } from './read-trace';

/** What happens at a time of a trace: a VM arrives or departs. */
export interface TraceEvent {
  readonly kind: 'arrival' | 'departure';
  readonly atDays: number;
  readonly vm: TraceVm;
}

/**
 * All events in order. At equal times departures come first, so that what leaves makes room for what comes; but a VM
 * that lives for no time arrives before it departs.
 */
export function timelineOf(vms: readonly TraceVm[]): TraceEvent[] {
  const events = vms.flatMap((vm): TraceEvent[] => [
    { kind: 'arrival', atDays: vm.startDays, vm },
    ...(Number.isFinite(vm.endDays) ? [{ kind: 'departure', atDays: vm.endDays, vm } as const] : []),
  ]);
  return events.sort((a, b) => a.atDays - b.atDays || rank(a) - rank(b));
}

function rank({ kind, vm }: TraceEvent): number {
  if (kind === 'arrival') return 1;
  return vm.startDays === vm.endDays ? 2 : 0;
}

/** The most cores and ram that live at once: what a fleet must have to place everything. */
export function peakDemand(events: readonly TraceEvent[]): { readonly cores: number; readonly ram: number } {
  let cores = 0;
  let ram = 0;
  const peak = { cores: 0, ram: 0 };
  for (const { kind, vm } of events) {
    const sign = kind === 'arrival' ? 1 : -1;
    cores += sign * vm.cores;
    ram += sign * vm.ram;
    peak.cores = Math.max(peak.cores, cores);
    peak.ram = Math.max(peak.ram, ram);
  }
  return peak;
}
