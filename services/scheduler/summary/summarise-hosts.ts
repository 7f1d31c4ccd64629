import { createHash } from 'node:crypto';
import {
  type CellSummary,
  type FreeAmount,
  type HostClass,
  MAX_HOST_CLASSES,
  MAX_ZONES,
} from '#libs/domain/cells/cell-summary';
import { ownZoneOf, zoneOf } from '#libs/domain/grouping/aggregate';
import { groupBy } from '#libs/runtime/group-by';
import type { HostState } from '../fleet/host-state';
import { signatureOf, withoutRareNames } from './rare-names';

/**
 * Free amounts of hosts, in at most {@link MAX_HOST_CLASSES} classes of similar hosts.
 *
 * Hosts are alike that are of one zone, have the same traits, and whose free amounts are between the same steps. When that makes
 * too many classes, small amounts are put together, as hosts that take small requests are many; traits are not told apart where zones
 * and traits alone make too many classes, nor zones where these do. A class remembers the most that one host has, all traits that some
 * host has, and what all have together, so that whatever is put together, a summary refuses nothing that the hosts would take.
 */
export function summariseHosts(hosts: Iterable<HostState>, refused: CellSummary['refused'] = []): CellSummary {
  let hostCount = 0;
  let instanceCount = 0;
  const available: HostState[] = [];
  const zones = new Set<string>();
  for (const host of hosts) {
    const zone = ownZoneOf(host.aggregates);
    if (zone) zones.add(zone);
    hostCount++;
    instanceCount += host.instances;
    if (host.host.up && host.host.enabled && host.quarantine === undefined) available.push(host);
  }
  const told = withoutRareNames(available.map(ofOneHost));
  const groups = coarsened(classesBy(told.hosts, ofSameAmounts));
  const [first, ...others] = groups;
  const commonTraits = new Set(
    first ? [...first.all].filter((trait) => others.every(({ all }) => all.has(trait))) : [],
  );
  const classes = groups.map(({ zone, hostCount: count, all, some, free }): HostClass => {
    const traits = new Set([...all].filter((trait) => !commonTraits.has(trait)));
    return { zone, hostCount: count, traits, someTraits: some, free };
  });
  const counts = { hostCount, availableCount: available.length, instanceCount };
  const { isAbridged } = told;
  const content = {
    ...counts,
    commonTraits,
    classes,
    refused,
    zones: [...zones].sort().slice(0, MAX_ZONES),
    isAbridged,
  };
  return { digest: digestOf(content), ...content };
}

/** Hosts that are taken for alike. */
interface Group {
  readonly zone: string;
  readonly hostCount: number;
  /** Tells sets of traits apart. */
  readonly signature: string;
  readonly all: ReadonlySet<string>;
  readonly some: ReadonlySet<string>;
  readonly free: Readonly<Record<string, FreeAmount>>;
}

/** Hosts keep the set of their traits while they have the same. */
const signatures = new WeakMap<ReadonlySet<string>, string>();
const NONE: ReadonlySet<string> = new Set();

function ofOneHost({ aggregates, traits, free }: HostState): Group {
  let signature = signatures.get(traits);
  if (signature === undefined) {
    signature = signatureOf(traits);
    signatures.set(traits, signature);
  }
  const amounts: Record<string, FreeAmount> = {};
  for (const name in free) {
    const amount = Math.max(0, free[name] ?? 0);
    if (amount > 0) amounts[name] = { most: amount, total: amount };
  }
  return { zone: zoneOf(aggregates), hostCount: 1, signature, all: traits, some: NONE, free: amounts };
}

/** So many buckets, the largest, are told apart of each resource class. */
const LARGEST_APART = [16, 12, 8, 6, 5, 4, 3, 2, 1];

function coarsened(finest: readonly Group[]): readonly Group[] {
  if (finest.length <= MAX_HOST_CLASSES) return finest;
  const kindOf = kindsApart(finest);
  let groups = finest;
  for (const count of LARGEST_APART) {
    groups = classesBy(groups, ofSameLargeAmounts(kindOf, leastApart(groups, count)));
    if (groups.length <= MAX_HOST_CLASSES) break;
  }
  return groups;
}

const KINDS: readonly ((one: Group) => string)[] = [kindOfGroup, ({ zone }) => zone];

/** The distinctions kept besides amounts: zone and traits, or zone, or none, when there would be too many classes. */
function kindsApart(groups: readonly Group[]): (one: Group) => string {
  return KINDS.find((kindOf) => new Set(groups.map(kindOf)).size <= MAX_HOST_CLASSES) ?? (() => '');
}

function kindOfGroup({ zone, signature }: Group): string {
  return `${zone}|${signature}`;
}

/** For each resource class the bucket below which smaller ones are merged when `count` are distinguished. */
function leastApart(groups: readonly Group[], count: number): ReadonlyMap<string, number> {
  const names = new Set(groups.flatMap(({ free }) => Object.keys(free)));
  return new Map(
    Array.from(names, (name) => {
      const buckets = new Set(groups.map(({ free }) => bucketOf(free[name])));
      return [name, [...buckets].sort((a, b) => b - a)[count - 1] ?? 0];
    }),
  );
}

function classesBy(groups: readonly Group[], keyOf: (one: Group) => string): readonly Group[] {
  return [...groupBy(groups, keyOf).values()].map(together);
}

/** One class of several: what some have it may have, the most that one has is its most. */
function together(groups: readonly Group[]): Group {
  const [first, ...others] = groups as [Group, ...Group[]];
  if (others.length === 0) return first;
  const free: Record<string, FreeAmount> = {};
  let hostCount = 0;
  for (const group of groups) {
    hostCount += group.hostCount;
    for (const name in group.free) {
      const { most, total } = group.free[name] as FreeAmount;
      const before = free[name];
      free[name] = before ? { most: Math.max(before.most, most), total: before.total + total } : { most, total };
    }
  }
  const zone = others.every((one) => one.zone === first.zone) ? first.zone : '';
  if (others.every(({ signature, some }) => signature === first.signature && some === first.some))
    return { ...first, zone, hostCount, free };
  const all = new Set([...first.all].filter((trait) => others.every((one) => one.all.has(trait))));
  const some = new Set(groups.flatMap((one) => [...one.all, ...one.some]).filter((trait) => !all.has(trait)));
  return { zone, hostCount, signature: '', all, some, free };
}

function ofSameAmounts(one: Group): string {
  let key = `${kindOfGroup(one)}|`;
  for (const name in one.free) key += `${name}${bucketOf(one.free[name])} `;
  return key;
}

function ofSameLargeAmounts(kindOf: (one: Group) => string, least: ReadonlyMap<string, number>): typeof kindOf {
  return (one) => {
    const buckets = Array.from(least, ([name, bucket]) => Math.max(bucketOf(one.free[name]), bucket));
    return `${kindOf(one)}|${buckets.join(' ')}`;
  };
}

/** Buckets begin at 0, 1, 2, 3, 4, 6, 8, 12 and so on, the sizes of common flavors: all hosts of a bucket fit such a flavor, or none does. */
function bucketOf({ most }: FreeAmount = NOTHING): number {
  if (most < 1) return 0;
  const power = Math.floor(Math.log2(most));
  return 1 + 2 * power + (most >= 1.5 * 2 ** power ? 1 : 0);
}

const NOTHING: FreeAmount = { most: 0, total: 0 };

function digestOf(content: object): number {
  const text = JSON.stringify(content, (_key, value: unknown) => (value instanceof Set ? [...value] : value));
  return createHash('sha1').update(text).digest().readUIntBE(0, 6);
}
