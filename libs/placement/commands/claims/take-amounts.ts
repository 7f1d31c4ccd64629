import { capacityOf, type Inventories, type Inventory, MAX_AMOUNT, refusalOf } from '../../../domain/inventory';
import { isNodeClass } from '../../../domain/nodes/node';
import type { ConsumerWrite, RefusedCommit } from '../../port/placement-store';
import { isCustom } from '../catalogue';
import { asUsage, isReservedRoom, type Stored, type Tables } from '../tables';
import type { Draft } from './draft';
import { joinReservation, reservedFrom } from './reserved-room';

const ANY_UNIT = { minUnit: 1, maxUnit: MAX_AMOUNT, stepSize: 1 };

/** An amount of a class that a consumer takes from a provider. */
interface Take {
  readonly write: ConsumerWrite;
  readonly providerUuid: string;
  readonly resourceClass: string;
  readonly amount: number;
}

/**
 * Takes what a consumer is to hold of providers, in order; why it can't, or undefined.
 *
 * @param growth  by how much the whole claim raises what is in use of a provider, class by class
 */
export function takeAmounts(
  draft: Draft,
  write: ConsumerWrite,
  growth: (providerUuid: string, resourceClass: string) => number,
): RefusedCommit | undefined {
  for (const [providerUuid, resources] of Object.entries(write.allocations)) {
    const inventories = draft.read('provider', providerUuid)?.inventories;
    if (!inventories) return { kind: 'not_found', subject: 'provider', key: providerUuid };
    const beyondUnits = joinReservation(draft, providerUuid, write);
    if (beyondUnits) return beyondUnits;
    if (!draft.terms.force) holdNode(draft, providerUuid, inventories, Object.keys(resources)[0] as string);
    for (const [resourceClass, amount] of Object.entries(resources)) {
      const take = { write, providerUuid, resourceClass, amount };
      const refusal = takeClass(draft, take, inventories, growth(providerUuid, resourceClass) > 0);
      if (refusal) return refusal;
    }
  }
  return undefined;
}

function takeClass(draft: Draft, take: Take, inventories: Inventories, isMore: boolean): RefusedCommit | undefined {
  const { write, providerUuid, resourceClass, amount } = take;
  const inventory = inventories[resourceClass];
  if (!inventory) {
    const isUnknown = isCustom(resourceClass) && !draft.read('resource_class', resourceClass);
    if (isUnknown) return { kind: 'not_found', subject: 'resource_class', key: resourceClass };
    return { kind: 'not_found', subject: 'inventory', key: `${providerUuid} ${resourceClass}` };
  }
  const { force, withinTotal = false } = draft.terms;
  if (!force || withinTotal) {
    // A part of an earlier claim may be of any size, and so may what runs already.
    const units = force || write.counted ? ANY_UNIT : inventory;
    const wrongUnit = refusalOf({ ...inventory, ...units, total: Infinity }, 0, amount);
    if (wrongUnit) return asRefusal(draft, take, wrongUnit);
    // A provider above its capacity takes what does not make it worse.
    if (isMore) holdToCapacity(draft, take, force ? { ...inventory, reserved: 0 } : inventory);
  }
  draft.move(providerUuid, resourceClass, amount);
  return undefined;
}

/** The amount fits beside what is in use; and, if it is a conductor's claim, beside what is nominated and reserved for others. */
function holdToCapacity(draft: Draft, take: Take, inventory: Inventory): void {
  const { write, providerUuid, resourceClass, amount } = take;
  const { force, withinTotal } = draft.terms;
  const sealed = force && withinTotal ? write.capacities?.[resourceClass] : undefined;
  const most = Math.min(capacityOf(inventory), sealed ?? Infinity) - amount;
  draft.boundUsage(providerUuid, resourceClass, most, (usage) => ({
    kind: 'capacity',
    providerUuid,
    resourceClass,
    refusal: 'capacity',
    usage: presentUsage(providerUuid, usage),
  }));
  if (draft.terms.force || write.owner !== 'conductor') return;
  const nominated = nominatedFor(draft, take);
  if (nominated > 0) {
    const refusal = { kind: 'nominated', providerUuid, resourceClass } as const;
    draft.boundUsage(providerUuid, resourceClass, most - nominated, () => refusal);
  }
  const reserved = reservedFrom(draft, providerUuid, write)[resourceClass] ?? 0;
  if (reserved > 0) {
    const refusal = { kind: 'reserved', providerUuid, resourceClass } as const;
    draft.boundUsage(providerUuid, resourceClass, most - nominated - reserved, () => refusal);
  }
}

/** Amount of a provider that is nominated for instances of the same or a higher priority. */
function nominatedFor(draft: Draft, { write, providerUuid, resourceClass }: Take): number {
  let amount = 0;
  for (const [uuid, one] of Object.entries(draft.read('nomination', providerUuid) ?? {})) {
    if (isReservedRoom(one)) continue;
    const isBefore = one.priority >= (write.priority ?? 0) && one.untilMs > draft.terms.atMs && !draft.own.has(uuid);
    if (isBefore && !draft.read('consumer', uuid)) amount += one.resources[resourceClass] ?? 0;
  }
  return amount;
}

/** A node of bare metal is one consumer's, whatever it shows of itself: nobody else has any of it. */
function holdNode(draft: Draft, providerUuid: string, inventories: Inventories, resourceClass: string): void {
  const classes = Object.keys(inventories);
  if (!classes.some(isNodeClass)) return;
  const inUse = Object.keys(draft.glance('usage', providerUuid)?.row.used ?? {});
  for (const name of new Set([...classes, ...inUse, ...Object.keys(draft.moved(providerUuid))])) {
    draft.boundUsage(providerUuid, name, 0, (usage) => ({
      kind: 'capacity',
      providerUuid,
      resourceClass,
      refusal: 'capacity',
      usage: presentUsage(providerUuid, usage),
    }));
  }
}

function asRefusal(
  draft: Draft,
  take: Take,
  refusal: 'min_unit' | 'max_unit' | 'step_size' | 'capacity',
): RefusedCommit {
  const { providerUuid, resourceClass } = take;
  const usage = presentUsage(providerUuid, draft.glance('usage', providerUuid));
  return { kind: 'capacity', providerUuid, resourceClass, refusal, usage };
}

function presentUsage(providerUuid: string, usage: Stored<Tables['usage']> | undefined) {
  return asUsage(providerUuid, usage ?? { row: { generation: 0, used: {} }, revision: 0 });
}
