import type { StandingRow } from '../../api/builds';

const UNITS: Readonly<Record<string, readonly string[]>> = {
  MEMORY_MB: ['MiB', 'GiB', 'TiB', 'PiB'],
  DISK_GB: ['GB', 'TB', 'PB'],
};

/** An amount of a resource class for people: `64 GiB`, `12`. */
export function amount(resourceClass: string, value: number): string {
  const units = UNITS[resourceClass];
  if (units === undefined) return number(value);
  const step = resourceClass === 'MEMORY_MB' ? 1_024 : 1_000;
  let i = 0;
  let left = value;
  while (Math.abs(left) >= step && i < units.length - 1) {
    left /= step;
    i += 1;
  }
  return `${number(Math.abs(left) >= 100 ? Math.round(left) : Math.round(left * 10) / 10)} ${units[i]}`;
}

/** Several amounts: `2 VCPU · 4 GiB · 20 GB`. */
export function amounts(resources: Readonly<Record<string, number>>): string {
  const sorted = Object.entries(resources).sort(([a], [b]) => placeOf(a) - placeOf(b));
  const parts = sorted.map(([name, value]) => (UNITS[name] ? amount(name, value) : `${number(value)} ${name}`));
  return parts.join(' · ');
}

const COMMON: readonly string[] = ['VCPU', 'PCPU', 'MEMORY_MB', 'DISK_GB'];

function placeOf(resourceClass: string): number {
  return COMMON.includes(resourceClass) ? COMMON.indexOf(resourceClass) : COMMON.length;
}

/** A resource class for people: `Memory`. */
export function className(resourceClass: string): string {
  return NAMES[resourceClass] ?? resourceClass;
}

const NAMES: Readonly<Record<string, string>> = { VCPU: 'VCPU', MEMORY_MB: 'Memory', DISK_GB: 'Disk', PCPU: 'PCPU' };

const thousands = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

export function number(value: number): string {
  return thousands.format(value);
}

/** A share of the fleet: `0.250`. */
export function shareOfFleet(value: number): string {
  return value.toFixed(3);
}

/** The number of a waiting request with its parts. */
export function standingWords({ number: sum, now, lately, weight, ahead, patience }: StandingRow): string {
  const used = `now ${shareOfFleet(now)} + lately ${shareOfFleet(lately)}`;
  const borne = patience < 1 ? `${patience.toFixed(2)} × (${used})` : used;
  return `${shareOfFleet(sum)} = (${borne} + ahead ${shareOfFleet(ahead)}) / weight ${number(weight)}`;
}

/** A share as a whole percentage; nearly none is not 0%, nearly all is not 100%. */
export function percent(share: number): string {
  if (share > 0 && share < 0.005) return '<1%';
  if (share < 1 && share >= 0.995) return '>99%';
  return `${Math.round(share * 100)}%`;
}

/** A time span: `340 ms`, `12 s`, `3 min`, `5 h`, `2 d`. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} d`;
}

/** A time ago, in whole seconds at least: `now`, `4 s ago`, `3 min ago`. */
export function age(ms: number): string {
  if (ms < 1_000) return 'now';
  return ms < 10_000 ? `${Math.floor(ms / 1_000)} s ago` : `${span(ms)} ago`;
}

const clockTime = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const fullTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

export function timeOf(ms: number): string {
  return clockTime.format(ms);
}

export function dateOf(ms: number): string {
  return fullTime.format(ms);
}

/** A symbol such as `no_valid_host` for people: `no valid host`. */
export function words(symbol: string): string {
  return symbol.replaceAll('_', ' ');
}

/** `1 host`, `2 hosts`. */
export function plural(count: number, noun: string, nouns = `${noun}s`): string {
  return `${number(count)} ${count === 1 ? noun : nouns}`;
}

/** The head of a refusal: capacity that comes free helps a request that can fit, and no other. */
export function noHost(isImpossible: boolean): string {
  return isImpossible ? 'No host can ever fit' : 'No valid host';
}

/** A term of the fleet's filter: `zone:east`, `zone:"my zone"`. */
export function term(key: 'zone' | 'rack' | 'aggregate', value: string): string {
  return /[\s"]/.test(value) ? `${key}:"${value.replaceAll('"', '')}"` : `${key}:${value}`;
}

/** A state for people, as Nova writes it: `ACTIVE`, `VERIFY_RESIZE`. */
export function stateName(state: string): string {
  return state.toUpperCase();
}
