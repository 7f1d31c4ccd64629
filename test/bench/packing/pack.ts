import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { percentile } from '#libs/runtime/percentiles';
import { readTrace, type TraceVm } from '../../../services/cli/trace/read-trace';
import { type CoresAndRam, peakDemand, type TraceEvent, timelineOf } from '../../../services/cli/trace/timeline';
import { PROFILES } from '../../../services/scheduler/weighers/profiles';
import { type Bench, round } from '../harness';
import { defragmented } from './defragmented';
import { boundOf, FLEETS, type HostKinds, hostsOf } from './fleet-kinds';
import { COURSE_NAMES, generatedTrace } from './generated-traces';
import { type Outcome, replay } from './replay-trace';

const TRACES = '../shared/data/vm-trace';
/** Precision of the number of hosts, as a share of the bound. */
const PRECISION = 1 / 400;
/** Upper limit of the search, in bounds. */
const MOST = 6;
/** Number of hosts, in bounds, for measuring the capacity that moves make. */
const ROOMY = 1.1;

/**
 * The hosts that each profile needs for traces of VM requests, its refusals on as few as the fractional bound, and the
 * capacity that moves make. The scheduler's own filters, weighers, ranks and prices decide.
 */
export const packBench: Bench = {
  name: 'pack',
  purpose: 'hosts that each scheduler profile needs for traces of VM requests, over the fractional bound',
  flags: {
    traces: 'FILE,... or a folder',
    generated: 'SEED,... of generated traces, instead of files',
    courses: `${COURSE_NAMES.join(',')}; of generated traces`,
    profiles: 'spread,pack,headroom',
    fleets: 'one_kind,mixed',
    limit: 'VMS, of each trace; all unless given',
  },
  isAlone: true,
  async run(context) {
    const { flags } = context;
    const results: Record<string, number | string> = {};
    const profiles = flags['profiles']?.split(',') ?? PROFILES;
    const ratios = new Map<string, number[]>();
    for await (const { name: trace, vms } of tracesOf(flags)) {
      const events = timelineOf(vms);
      for (const [fleet, kinds] of Object.entries(FLEETS)) {
        if (flags['fleets'] && !flags['fleets'].split(',').includes(fleet)) continue;
        const name = `${trace}_${fleet}`;
        const bound = boundOf(peakDemand(events), kinds);
        results[`${name}_bound_hosts`] = bound;
        for (const profile of profiles) {
          const figures = figuresOf(events, kinds, bound, profile);
          for (const [figure, value] of Object.entries(figures)) results[`${name}_${profile}_${figure}`] = value;
          context.note(`${name} ${profile}: ${JSON.stringify(figures)}`);
          const key = `${fleet}_${profile}`;
          ratios.set(key, [...(ratios.get(key) ?? []), figures.hosts_over_bound]);
          // Generated traces are many, and this takes longer than the rest.
          if (flags['generated']) continue;
          const moved = defragmented(events, hostsOf(kinds, Math.ceil(bound * ROOMY)), profile);
          for (const [figure, value] of Object.entries(moved))
            results[`${name}_${profile}_defragment_${figure}`] = value;
          context.note(`${name} ${profile}, defragmented: ${JSON.stringify(moved)}`);
        }
      }
    }
    for (const [key, all] of ratios) {
      results[`${key}_mean_over_bound`] = Number((all.reduce((a, b) => a + b) / all.length).toFixed(4));
      results[`${key}_most_over_bound`] = Math.max(...all);
    }
    return results;
  },
};

interface NamedTrace {
  readonly name: string;
  readonly vms: readonly TraceVm[];
}

async function* tracesOf(flags: Readonly<Record<string, string>>): AsyncGenerator<NamedTrace> {
  const limit = Number(flags['limit'] ?? Number.POSITIVE_INFINITY);
  const seeds = flags['generated']?.split(',').map(Number);
  if (seeds) {
    for (const seed of seeds) {
      for (const course of flags['courses']?.split(',') ?? COURSE_NAMES) {
        yield { name: `${course}_${seed}`, vms: generatedTrace(course, seed).slice(0, limit) };
      }
    }
    return;
  }
  for (const path of tracesIn(flags['traces'] ?? TRACES)) {
    const { vms } = await readTrace(path, limit);
    yield { name: basename(path).replace(/\.csv(\.gz)?$/, ''), vms };
  }
}

function tracesIn(given: string): readonly string[] {
  return given.split(',').flatMap((path) => {
    if (!statSync(path).isDirectory()) return [path];
    const files = readdirSync(path).filter((file) => /\.csv(\.gz)?$/.test(file));
    return files.sort().map((file) => join(path, file));
  });
}

function figuresOf(events: readonly TraceEvent[], kinds: HostKinds, bound: number, profile: string) {
  const atBound = replay(events, hostsOf(kinds, bound), profile);
  const needed = atBound.refused.count === 0 ? bound : hostsNeeded(events, kinds, bound, profile);
  const capacity = hostsOf(kinds, bound).reduce((a, b) => ({ cores: a.cores + b.cores, ram: a.ram + b.ram }));
  const percents = (of: CoresAndRam, all: CoresAndRam, name: string) => ({
    [`${name}_cores_percent`]: round((100 * of.cores) / all.cores),
    [`${name}_ram_percent`]: round((100 * of.ram) / all.ram),
  });
  return {
    hosts: needed,
    hosts_over_bound: Number((needed / bound).toFixed(4)),
    refused_requests: atBound.refused.count,
    ...percents(atBound.refused, atBound.asked, 'refused'),
    ...percents(atBound.stranded, capacity, 'stranded'),
    empty_hosts: round(atBound.emptyHosts),
    ...costOf(atBound),
  };
}

/**
 * The cost of a decision on as many hosts as the bound; the mean by processor time, which other work on the machine
 * affects least.
 */
function costOf({ decisionsUs, processorUs }: Outcome) {
  const all = [...decisionsUs];
  return {
    decision_mean_cpu_us: round(processorUs / all.length),
    decision_p50_us: round(percentile(all, 50)),
    decision_p99_us: round(percentile(all, 99)),
  };
}

/** The fewest hosts without refusals: found by doubling steps, then by bisection. */
function hostsNeeded(events: readonly TraceEvent[], kinds: HostKinds, bound: number, profile: string): number {
  const isEnough = (count: number) => replay(events, hostsOf(kinds, count), profile, true).refused.count === 0;
  const exact = Math.max(1, Math.floor(bound * PRECISION));
  let tooFew = bound;
  let step = Math.max(exact, Math.ceil(bound / 40));
  let enough = bound + step;
  while (!isEnough(enough)) {
    if (enough > bound * MOST) return Number.POSITIVE_INFINITY;
    step *= 2;
    tooFew = enough;
    enough += step;
  }
  while (enough - tooFew > exact) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (isEnough(middle)) enough = middle;
    else tooFew = middle;
  }
  return enough;
}
