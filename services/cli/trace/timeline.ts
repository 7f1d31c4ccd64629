import type { TraceVm } from './read-trace';

/** The arrival or departure of one VM of a trace. */
export interface TraceEvent {
  readonly kind: 'arrival' | 'departure';
  readonly atDays: number;
  readonly vm: TraceVm;
}

/**
 * All events in order. At equal times departures come first, so that they free capacity for the arrivals; but a VM
 * with no duration arrives before it departs.
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

export interface CoresAndRam {
  readonly cores: number;
  readonly ram: number;
}

/** The peak of cores and ram in use at once: the minimum capacity to place everything. */
export function peakDemand(events: readonly TraceEvent[]): CoresAndRam {
  return utilisationOf(events, () => true, { cores: 1, ram: 1 }).peak;
}

export interface Utilisation {
  /** Shares of the fleet's capacity, 0 to 1. */
  readonly peak: CoresAndRam;
  /**
   * Averaged over the trace's own time, from day 0 to the last arrival; the value on day 0 when nothing arrives later.
   */
  readonly mean: CoresAndRam;
}

/** The fleet's utilisation in the trace's own time, for the placed VMs. */
export function utilisationOf(
  events: readonly TraceEvent[],
  isPlaced: (vmId: string) => boolean,
  capacity: CoresAndRam,
): Utilisation {
  const fromDays = Math.max(0, events[0]?.atDays ?? 0);
  const toDays = events.findLast(({ kind }) => kind === 'arrival')?.atDays ?? 0;
  const used = { cores: 0, ram: 0 };
  const peak = { cores: 0, ram: 0 };
  const area = { cores: 0, ram: 0 };
  let onDay0 = { cores: 0, ram: 0 };
  let atDays = fromDays;
  for (const event of events) {
    // Usage is constant between two events.
    const days = Math.max(0, Math.min(event.atDays, toDays) - atDays);
    area.cores += used.cores * days;
    area.ram += used.ram * days;
    atDays += days;
    if (!isPlaced(event.vm.vmId)) continue;
    const sign = event.kind === 'arrival' ? 1 : -1;
    used.cores += sign * event.vm.cores;
    used.ram += sign * event.vm.ram;
    peak.cores = Math.max(peak.cores, used.cores);
    peak.ram = Math.max(peak.ram, used.ram);
    if (event.atDays <= fromDays) onDay0 = { ...used };
  }
  const days = atDays - fromDays;
  const mean = days > 0 ? { cores: area.cores / days, ram: area.ram / days } : onDay0;
  const shares = ({ cores, ram }: CoresAndRam) => ({
    cores: capacity.cores > 0 ? cores / capacity.cores : 0,
    ram: capacity.ram > 0 ? ram / capacity.ram : 0,
  });
  return { peak: shares(peak), mean: shares(mean) };
}
