import type { TraceEvent } from './timeline';

export interface Utilisation {
  /** Shares of the fleet's capacity, 0 to 1. */
  readonly peak: { readonly cores: number; readonly ram: number };
  /** Over the trace's own time, from its beginning (day 0) to its last arrival. */
  readonly mean: { readonly cores: number; readonly ram: number };
}

/** How full the fleet was in the trace's own time, given which VMs were placed. */
export function utilisationOf(
  events: readonly TraceEvent[],
  isPlaced: (vmId: string) => boolean,
  capacity: { readonly cores: number; readonly ram: number },
): Utilisation {
  const fromDays = Math.max(0, events[0]?.atDays ?? 0);
  const toDays = events.findLast(({ kind }) => kind === 'arrival')?.atDays ?? 0;
  const used = { cores: 0, ram: 0 };
  const peak = { cores: 0, ram: 0 };
  const area = { cores: 0, ram: 0 };
  let atDays = fromDays;
  for (const event of events) {
    // Until this event the fleet was as the one before left it.
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
  }
  const days = Math.max(Number.EPSILON, atDays - fromDays);
  const shares = ({ cores, ram }: { cores: number; ram: number }) => ({
    cores: capacity.cores > 0 ? cores / capacity.cores : 0,
    ram: capacity.ram > 0 ? ram / capacity.ram : 0,
  });
  return { peak: shares(peak), mean: shares({ cores: area.cores / days, ram: area.ram / days }) };
}
