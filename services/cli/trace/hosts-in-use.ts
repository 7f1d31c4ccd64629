import type { CoresAndRam, TraceEvent } from './timeline';

/** The usage of a fleet's hosts, in the trace's own time. */
export interface HostsInUse {
  /** The peak number of hosts with a VM. */
  readonly most: number;
  /**
   * Means from day 0, as shares of the fleet's capacity: the free capacity of hosts in use that exceeds the proportion
   * of cores to ram in the requests.
   */
  readonly stranded: CoresAndRam;
}

const SAMPLES_PER_DAY = 24;

/**
 * Follows each host through the trace. Cores are stranded where ram runs out first, and ram where cores do: VMs in the
 * trace's overall proportion could not use them.
 *
 * @param hostOf  the host of each placed VM, by vmId
 * @param capacities  of each host, by name
 */
export function hostsInUse(
  events: readonly TraceEvent[],
  hostOf: ReadonlyMap<string, string>,
  capacities: ReadonlyMap<string, CoresAndRam>,
): HostsInUse {
  const used = new Map<string, { cores: number; ram: number; vms: number }>();
  const ramPerCore = proportionOf(events);
  const sum = { cores: 0, ram: 0 };
  let [inUse, most, samples] = [0, 0, 0];
  const sample = () => {
    samples += 1;
    for (const [host, { cores, ram, vms }] of used) {
      const capacity = capacities.get(host);
      if (vms === 0 || !capacity) continue;
      const stranded = strandedOf({ cores: capacity.cores - cores, ram: capacity.ram - ram }, ramPerCore);
      sum.cores += stranded.cores;
      sum.ram += stranded.ram;
    }
  };
  for (const { kind, vm, atDays } of events) {
    const due = Math.ceil(atDays * SAMPLES_PER_DAY) - samples;
    for (let n = 0; n < due; n++) sample();
    const name = hostOf.get(vm.vmId);
    if (name === undefined) continue;
    const host = used.get(name) ?? { cores: 0, ram: 0, vms: 0 };
    const sign = kind === 'arrival' ? 1 : -1;
    used.set(name, { cores: host.cores + sign * vm.cores, ram: host.ram + sign * vm.ram, vms: host.vms + sign });
    if (host.vms === 0) inUse += 1;
    else if (host.vms + sign === 0) inUse -= 1;
    most = Math.max(most, inUse);
  }
  if (samples === 0) sample();
  const all = { cores: 0, ram: 0 };
  for (const { cores, ram } of capacities.values()) {
    all.cores += cores;
    all.ram += ram;
  }
  const share = (name: 'cores' | 'ram') => (all[name] === 0 ? 0 : sum[name] / samples / all[name]);
  return { most, stranded: { cores: share('cores'), ram: share('ram') } };
}

/** The part of a host's free capacity beyond the proportion that VMs request. */
export function strandedOf({ cores, ram }: CoresAndRam, ramPerCore: number): CoresAndRam {
  return { cores: Math.max(0, cores - ram / ramPerCore), ram: Math.max(0, ram - cores * ramPerCore) };
}

/** Ram per core over all requests of the trace. */
function proportionOf(events: readonly TraceEvent[]): number {
  let [cores, ram] = [0, 0];
  for (const { kind, vm } of events) {
    if (kind === 'departure') continue;
    cores += vm.cores;
    ram += vm.ram;
  }
  return ram / cores;
}
