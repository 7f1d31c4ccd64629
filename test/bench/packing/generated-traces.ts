import TinyQueue from 'tinyqueue';
import { type Random, randomInt, seededRandom } from '#libs/domain/random';
import type { TraceVm } from '../../../services/cli/trace/read-trace';
import type { CoresAndRam } from '../../../services/cli/trace/timeline';
import { USUAL } from './fleet-kinds';
import { AZURE, anyMix, CORE_HEAVY, LARGE, MEMORY_HEAVY, type Mix } from './mixes';

/** Mixes, each with its share of the requests; the shares need not sum to 1. */
type Mixes = readonly (readonly [mix: Mix, share: number])[];

/** The demand of a trace; `at` is the part of its time that is over, 0 to 1. */
interface Course {
  /** The demand to keep up, as a share of the trace's size. */
  level(at: number): number;
  mixes(at: number): Mixes;
  lifeDays(random: Random): number;
  /** The number of VMs of one shape in a request; 1 when left out. */
  batch?(random: Random): number;
}

const DAYS = 14;
const STEPS = 2_000;
/** Demand of a trace at level 1, in hosts of the usual shape. */
const SIZE_HOSTS = 150;
const MAX_VMS = 40_000;

const full = () => 1;
const always = (mix: Mix) => (): Mixes => [[mix, 1]];
const between = (random: Random, from: number, to: number) => from + (to - from) * random.next();

/** Courses by name; what they leave open is drawn for each trace. */
const COURSES: Readonly<Record<string, (random: Random) => Course>> = {
  steady: (random) => ({ level: full, mixes: always(AZURE), lifeDays: anyLife(random) }),
  growth: (random) => ({ level: (at) => 0.1 + 0.9 * at, mixes: always(anyMix(random)), lifeDays: () => Infinity }),
  growth_with_ends: (random) => ({
    level: (at) => 0.3 + 0.7 * at,
    mixes: always(anyMix(random)),
    lifeDays: anyLife(random),
  }),
  slow_shift(random) {
    const [from, to] = [anyMix(random), anyMix(random)];
    return {
      level: full,
      mixes: (at) => [
        [from, 1 - at],
        [to, at],
      ],
      lifeDays: anyLife(random),
    };
  },
  abrupt_shift(random) {
    const [from, to] = [always(anyMix(random)), always(anyMix(random))];
    const when = between(random, 0.3, 0.7);
    return { level: full, mixes: (at) => (at < when ? from() : to()), lifeDays: anyLife(random) };
  },
  cyclic(random) {
    const [day, night] = [anyMix(random), anyMix(random)];
    const cycles = between(random, 2, 14);
    const wave = (at: number) => (1 + Math.sin(2 * Math.PI * cycles * at)) / 2;
    return {
      level: (at) => 0.8 + 0.2 * wave(at),
      mixes: (at) => [
        [day, wave(at)],
        [night, 1 - wave(at)],
      ],
      lifeDays: anyLife(random),
    };
  },
  rare_large(random) {
    const share = between(random, 0.0005, 0.01);
    const mix = anyMix(random);
    return {
      level: full,
      mixes: () => [
        [mix, 1],
        [LARGE, share],
      ],
      lifeDays: anyLife(random),
    };
  },
  late_large(random) {
    const mix = anyMix(random);
    const when = between(random, 0.5, 0.9);
    const share = between(random, 0.001, 0.02);
    return {
      level: (at) => (at < when ? 0.7 : 1),
      mixes: (at) => [
        [mix, 1],
        [LARGE, at < when ? 0 : share],
      ],
      lifeDays: anyLife(random),
    };
  },
  two_ratios(random) {
    const share = between(random, 0.2, 0.8);
    const turns = random.next() < 0.5;
    return {
      level: full,
      mixes: (at) => [
        [CORE_HEAVY, turns ? at : share],
        [MEMORY_HEAVY, turns ? 1 - at : 1 - share],
      ],
      lifeDays: anyLife(random),
    };
  },
  refill(random) {
    const [before, after] = [always(anyMix(random)), always(anyMix(random))];
    const depth = between(random, 0.2, 0.6);
    const refilled = (at: number) => (at < 0.5 ? depth : Math.min(1, depth + (at - 0.5) * 3));
    return {
      level: (at) => (at < 0.4 ? 0.95 : refilled(at)),
      mixes: (at) => (at < 0.45 ? before() : after()),
      lifeDays: anyLife(random),
    };
  },
  bursts(random) {
    const share = between(random, 0.002, 0.02);
    return {
      level: (at) => 0.85 + 0.15 * at,
      mixes: always(anyMix(random)),
      lifeDays: anyLife(random),
      batch: (each) => (each.next() < share ? 1 + randomInt(each, 60) : 1),
    };
  },
};

export const COURSE_NAMES = Object.keys(COURSES);

/** The VM requests of a course: the same for the same seed. Whatever ends is replaced, so that demand follows the level. */
export function generatedTrace(name: string, seed: number): TraceVm[] {
  const random = seededRandom(1 + seed * 101 + COURSE_NAMES.indexOf(name));
  const course = COURSES[name]?.(random);
  if (!course) throw new Error(`there is no course ${name}; there are ${COURSE_NAMES.join(', ')}`);
  const vms: TraceVm[] = [];
  const running = new TinyQueue<TraceVm>([], (a, b) => a.endDays - b.endDays);
  const used = { cores: 0, ram: 0 };
  for (let step = 0; step <= STEPS; step++) {
    const at = step / STEPS;
    for (let vm = running.peek(); vm && vm.endDays <= DAYS * at; vm = running.peek()) {
      running.pop();
      used.cores -= vm.cores;
      used.ram -= vm.ram;
    }
    let inStep = 0;
    while (hostsFor(used) < SIZE_HOSTS * course.level(at) && vms.length < MAX_VMS) {
      const { cores, ram } = drawFrom(course.mixes(at), random);
      for (let left = course.batch?.(random) ?? 1; left > 0; left--) {
        // In order within the step, however many there are.
        const startDays = DAYS * at + (DAYS / STEPS) * (1 - 1 / (1 + inStep++ / 20));
        const endDays = startDays + course.lifeDays(random);
        const vm = { vmId: `${vms.length}`, tenantId: name, cores, ram, startDays, endDays };
        vms.push(vm);
        running.push(vm);
        used.cores += cores;
        used.ram += ram;
      }
    }
  }
  return vms;
}

function hostsFor({ cores, ram }: CoresAndRam): number {
  return Math.max(cores / USUAL.cores, ram / USUAL.ram);
}

function drawFrom(mixes: Mixes, random: Random): CoresAndRam {
  const [mix] = weighted(mixes, ([, share]) => share, random);
  const [cores, ram] = weighted(mix, ([, , share]) => share, random);
  return { cores, ram };
}

function weighted<T>(all: readonly T[], shareOf: (one: T) => number, random: Random): T {
  let left = random.next() * all.reduce((sum, one) => sum + shareOf(one), 0);
  for (const one of all) {
    left -= shareOf(one);
    if (left < 0) return one;
  }
  return all.at(-1) as T;
}

/** Lifetimes of a trace: exponential, lognormal or Pareto, of which a part may never end. */
function anyLife(random: Random): (each: Random) => number {
  const mean = between(random, 1, 6);
  const endless = random.next() < 0.5 ? 0 : between(random, 0, 0.3);
  const kind = randomInt(random, 3);
  return (each) => {
    if (each.next() < endless) return Infinity;
    const drawn = 1 - each.next();
    if (kind === 0) return -mean * Math.log(drawn);
    if (kind === 2) return (mean / 6) * drawn ** (-1 / 1.2);
    const normal = Math.sqrt(-2 * Math.log(drawn)) * Math.cos(2 * Math.PI * each.next());
    return mean * Math.exp(1.5 * normal - 1.5 ** 2 / 2);
  };
}
