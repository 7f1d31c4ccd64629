import { strandedOf } from '../../../services/cli/trace/hosts-in-use';
import type { CoresAndRam, TraceEvent } from '../../../services/cli/trace/timeline';
import type { PendingClaim } from '../../../services/scheduler/fleet/pending-claims';
import { PackedFleet } from './packed-fleet';

/** The outcome of a trace on one fleet. */
export interface Outcome {
  /** Sums over the VMs without a host, and over all. */
  readonly refused: CoresAndRam & { readonly count: number };
  readonly asked: CoresAndRam;
  /** Means over the trace's own time, from day 0: free capacity where the other class is used up; empty hosts. */
  readonly stranded: CoresAndRam;
  readonly emptyHosts: number;
  /** Elapsed time of each decision, and processor time of all of them with the departures between. */
  readonly decisionsUs: Float64Array;
  readonly processorUs: number;
}

const SAMPLES_PER_DAY = 24;

/** Places and removes the VMs of a trace in order; optionally stops at the first refusal. */
export function replay(
  events: readonly TraceEvent[],
  hosts: readonly CoresAndRam[],
  profile: string,
  untilRefused = false,
): Outcome {
  const fleet = new PackedFleet(hosts, profile);
  const processorBefore = process.cpuUsage();
  const claims = new Map<string, PendingClaim>();
  const refused = { cores: 0, ram: 0, count: 0 };
  const asked = { cores: 0, ram: 0 };
  const decisionsUs = new Float64Array(events.length);
  const sums = { cores: 0, ram: 0, emptyHosts: 0 };
  let [decisions, samples] = [0, 0];
  for (const { kind, vm, atDays } of events) {
    for (; atDays > samples / SAMPLES_PER_DAY; samples++) addSample(fleet, asked, sums);
    if (kind === 'departure') {
      const claim = claims.get(vm.vmId);
      if (claim) fleet.remove(claim);
      claims.delete(vm.vmId);
      continue;
    }
    add(asked, vm);
    const startedMs = performance.now();
    const claim = fleet.place(vm);
    decisionsUs[decisions++] = 1_000 * (performance.now() - startedMs);
    if (claim) claims.set(vm.vmId, claim);
    else {
      add(refused, vm);
      refused.count += 1;
      if (untilRefused) break;
    }
  }
  const { user, system } = process.cpuUsage(processorBefore);
  const mean = (sum: number) => (samples === 0 ? 0 : sum / samples);
  return {
    refused,
    asked,
    stranded: { cores: mean(sums.cores), ram: mean(sums.ram) },
    emptyHosts: mean(sums.emptyHosts),
    decisionsUs: decisionsUs.subarray(0, decisions),
    processorUs: user + system,
  };
}

function addSample(fleet: PackedFleet, asked: CoresAndRam, sums: { cores: number; ram: number; emptyHosts: number }) {
  if (asked.cores === 0) return;
  const ramPerCore = asked.ram / asked.cores;
  fleet.forEachHost(({ free, instances }) => {
    add(sums, strandedOf({ cores: free['VCPU'] as number, ram: free['MEMORY_MB'] as number }, ramPerCore));
    if (instances === 0) sums.emptyHosts += 1;
  });
}

function add(sum: { cores: number; ram: number }, { cores, ram }: CoresAndRam): void {
  sum.cores += cores;
  sum.ram += ram;
}
