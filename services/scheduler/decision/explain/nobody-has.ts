import type { Diagnosis } from '#libs/contracts/diagnosis';
import { DEFAULT_ZONE, ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { capacityOf } from '#libs/domain/inventory';
import { closestTo } from '#libs/domain/naming/known-names';
import type { RequestSpec } from '#libs/domain/request-spec';
import type { Fleet } from '../../fleet/fleet';
import type { FleetSnapshot } from '../../fleet/fleet-snapshot';
import { type ClassDemand, requiredDemands } from '../../fleet/host-capacity';
import type { EquivalenceClass } from '../../request/equivalence-class';

/**
 * A refusal that begins with the names which nobody in the fleet has: a zone, a host, an aggregate, a class, a trait. Such a
 * request waits for something else than room, and most often for nothing: it has a typing error.
 */
export function namingWhatNobodyHas(diagnosis: Diagnosis, spec: RequestSpec, asked: Asked): Diagnosis {
  const { filters, hostsConsidered } = diagnosis;
  if (hostsConsidered === 0) return diagnosis;
  const { fleet } = asked;
  const counts = new Map(filters.flatMap(({ reasons }) => Object.entries(reasons)));
  const counted = { hostsConsidered, refusing: (symbol: string) => counts.get(symbol) ?? 0 };
  const impossible = [
    ...noZone(spec.availabilityZone, fleet),
    ...noHosts(spec.forceHosts, fleet),
    ...noAggregates(spec.memberOf, fleet),
    ...nobodyOffers(spec, counted),
    ...largerThanAll(counted, asked),
  ].slice(0, MAX_SAID);
  if (impossible.length === 0) return diagnosis;
  return { ...diagnosis, impossible, summary: `${impossible.join('; ')}. ${diagnosis.summary}` };
}

/** A request, and the fleet that refuses it. */
interface Asked {
  readonly fleet: Fleet;
  readonly snapshot: FleetSnapshot;
  readonly equivalenceClass: EquivalenceClass;
}

/** The hosts that a diagnosis counts, by symbol of the refusal. */
interface Counted {
  readonly hostsConsidered: number;
  readonly refusing: (symbol: string) => number;
}

const MAX_SAID = 4;
const MAX_ZONES = 10;

function noZone(wanted: string | undefined, { view }: Fleet): string[] {
  if (wanted === undefined) return [];
  const zones = new Set([DEFAULT_ZONE]);
  for (const { metadata } of view.aggregates()) zones.add(metadata[ZONE_KEY] ?? DEFAULT_ZONE);
  if (zones.has(wanted)) return [];
  const near = closestTo(wanted, zones);
  const shown = [...zones].sort().slice(0, MAX_ZONES).join(', ');
  return [
    `there is no zone '${wanted}'${near ? `, did you mean '${near}'?` : ''}; zones: ${shown}${zones.size > MAX_ZONES ? ', …' : ''}`,
  ];
}

/** Other hosts are not named: who asks may be a tenant. */
function noHosts(wanted: readonly string[], fleet: Fleet): string[] {
  return wanted.filter((name) => fleet.indexOfHost(name) === undefined).map((name) => `there is no host '${name}'`);
}

function noAggregates(wanted: RequestSpec['memberOf'], { view }: Fleet): string[] {
  if (wanted.length === 0) return [];
  const known = new Set<string>();
  for (const { uuid } of view.aggregates()) known.add(uuid);
  for (const { aggregates } of view.providers()) for (const uuid of aggregates) known.add(uuid);
  const none = wanted.filter((anyOf) => !anyOf.some((uuid) => known.has(uuid)));
  return none.map((anyOf) => `nothing is in aggregate ${anyOf.join(' or ')}`);
}

/** Resource classes, traits and the like for which every host was refused. */
function nobodyOffers(spec: RequestSpec, { refusing, hostsConsidered }: Counted): string[] {
  const isNowhere = (symbol: string) => refusing(symbol) === hostsConsidered;
  const classes = new Set([spec, ...spec.requestGroups].flatMap(({ resources }) => Object.keys(resources)));
  const traits = new Set(spec.requiredTraits);
  return [
    ...[...classes].filter((name) => isNowhere(`no_inventory_${name.toLowerCase()}`)),
    ...[...traits].filter((name) => isNowhere(`missing_trait_${name.toLowerCase()}`)).map((name) => `trait ${name}`),
  ].map((name) => `nobody offers ${name}`);
}

/** Amounts that no host could give if it were empty. */
function largerThanAll({ refusing, hostsConsidered }: Counted, { equivalenceClass, snapshot }: Asked): string[] {
  const isShortEverywhere = ({ resourceClass }: ClassDemand) => {
    const symbols = TOO_LITTLE.map((reason) => `${reason}_${resourceClass.toLowerCase()}`);
    return symbols.reduce((sum, symbol) => sum + refusing(symbol), 0) === hostsConsidered;
  };
  return requiredDemands(equivalenceClass)
    .filter(isShortEverywhere)
    .flatMap((demand) => whyNever(demand, snapshot) ?? []);
}

/** Undefined when an empty host could give it. */
function whyNever({ resourceClass, inAll, atOnce }: ClassDemand, { hosts }: FleetSnapshot): string | undefined {
  let [largest, largestUnit] = [0, 0];
  for (let index = 0; index < hosts.length; index++) {
    const inventory = hosts.at(index)?.inventories[resourceClass];
    if (inventory === undefined) continue;
    largest = Math.max(largest, capacityOf(inventory));
    largestUnit = Math.max(largestUnit, inventory.maxUnit);
    // A fleet that is full shows one such host soon; only an impossible request reads all.
    if (inAll <= largest && atOnce <= largestUnit) return undefined;
  }
  if (largest === 0) return undefined;
  if (inAll > largest) return `the largest host has ${largest} ${resourceClass}: ${inAll} can never fit`;
  return `no host gives more than ${largestUnit} ${resourceClass} to one instance: ${atOnce} can never fit`;
}

const TOO_LITTLE = ['capacity', 'max_unit', 'no_inventory'] as const;
