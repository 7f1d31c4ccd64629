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

/**
 * What hosts have free, in at most {@link MAX_HOST_CLASSES} classes of hosts that are alike.
 *
 * Hosts are alike that are of one zone, have the same traits, and whose free amounts have the same power of two. When that makes
 * too many classes, amounts are told less and less apart, then traits, then zones: a class remembers the most that one host has,
 * all traits that some host has, and what all have together, so that whatever is put together, a summary refuses nothing that the
 * hosts would take.
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
  const finest = classesBy(available.map(ofOneHost), (one) => `${one.zone}|${one.signature}|${bucketsOf(one.free, 1)}`);
  const groups = coarsened(finest);
  const [first, ...others] = groups;
  const commonTraits = new Set(
    first ? [...first.all].filter((trait) => others.every(({ all }) => all.has(trait))) : [],
  );
  const classes = groups.map(({ zone, hostCount: count, all, some, free }): HostClass => {
    const traits = new Set([...all].filter((trait) => !commonTraits.has(trait)));
    return { zone, hostCount: count, traits, someTraits: some, free };
  });
  const counts = { hostCount, availableCount: available.length, instanceCount };
  const content = { ...counts, commonTraits, classes, refused, zones: [...zones].sort().slice(0, MAX_ZONES) };
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
    signature = [...traits].sort().join(' ');
    signatures.set(traits, signature);
  }
  const amounts: Record<string, FreeAmount> = {};
  for (const name in free) {
    const amount = Math.max(0, free[name] ?? 0);
    if (amount > 0) amounts[name] = { most: amount, total: amount };
  }
  return { zone: zoneOf(aggregates), hostCount: 1, signature, all: traits, some: NONE, free: amounts };
}

function coarsened(finest: readonly Group[]): readonly Group[] {
  let groups = finest;
  for (const width of [2, 4, 8, 64]) {
    if (groups.length <= MAX_HOST_CLASSES) return groups;
    groups = classesBy(groups, (one) => `${one.zone}|${one.signature}|${bucketsOf(one.free, width)}`);
  }
  if (groups.length > MAX_HOST_CLASSES) groups = classesBy(groups, ({ zone }) => zone);
  return groups.length > MAX_HOST_CLASSES ? classesBy(groups, () => '') : groups;
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

function bucketsOf(free: Readonly<Record<string, FreeAmount>>, width: number): string {
  let buckets = '';
  for (const name in free) {
    buckets += `${name}${Math.floor(Math.log2((free[name]?.most ?? 0) + 1) / width)} `;
  }
  return buckets;
}

function digestOf(content: object): number {
  const text = JSON.stringify(content, (_key, value: unknown) => (value instanceof Set ? [...value] : value));
  return createHash('sha1').update(text).digest().readUIntBE(0, 6);
}
