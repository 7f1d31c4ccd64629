import { type Inventories, MAX_AMOUNT } from '#libs/domain/inventory';
import { sentenceOf } from '#libs/domain/quotas/quota';
import type { CommitResult, ConsumerGuard, ConsumerWrite } from '#libs/placement/port/placement-store';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { badRequest, ERROR_CODE, HttpError } from '../http/http-error';
import { unknownClass } from '../unknown-names';
import { conflict, refused } from './store-results';

/** The request, for the text of its refusal. */
export interface Asked {
  readonly consumers: readonly ConsumerWrite[];
  readonly view: PlacementView;
  /** Prefix of the text for a missing class. */
  readonly noClass: string;
  /** New inventories by provider, when the same request replaces them. */
  readonly inventories?: Readonly<Record<string, Inventories>>;
}

/** @throws HttpError when an amount is above the largest total that an inventory can have. */
export function requireAmounts(asked: Asked): void {
  for (const [uuid, resources] of takenIn(asked)) {
    for (const [resourceClass, amount] of Object.entries(resources)) {
      if (amount > MAX_AMOUNT) throw whatIsMissing(asked) ?? refusedAmount(uuid, resourceClass, false);
    }
  }
}

/** The error for a refusal by the store. Of several reasons it is the one that Placement checks first. */
export function whyNotAllocated(result: CommitResult, asked: Asked): Error {
  return refused(result, {
    owner: ({ uuid }) => foreignConsumer(uuid),
    quota: ({ excess }) => new HttpError(403, `Quota exceeded: ${sentenceOf(excess)}`, ERROR_CODE.quotaExceeded),
    generation: (stale) =>
      staleConsumer(asked.consumers.find(({ uuid }) => uuid === stale.uuid)?.expect, stale.present),
    capacity: ({ providerUuid, resourceClass, refusal }) =>
      whatIsMissing(asked) ?? refusedAmount(providerUuid, resourceClass, refusal === 'capacity'),
    not_found({ key }) {
      const [providerUuid = '', resourceClass = ''] = key.split(' ');
      return whatIsMissing(asked) ?? noInventory([providerUuid], [resourceClass]);
    },
  });
}

/** The first check: a changed consumer, or a missing provider. */
export function firstFault(asked: Asked): HttpError | undefined {
  for (const { uuid, expect } of asked.consumers) {
    const present = asked.view.consumer(uuid)?.generation;
    const given = expect.kind === 'generation' ? expect.generation : undefined;
    if (expect.kind !== 'any' && present !== given) return staleConsumer(expect, present);
  }
  const missing = takenIn(asked).find(([uuid]) => !asked.view.provider(uuid));
  return missing && badRequest(`Allocation for resource provider '${missing[0]}' that does not exist.`);
}

/** Later checks: missing classes, then providers without an inventory of any requested class. */
function whatIsMissing(asked: Asked): HttpError | undefined {
  const fault = firstFault(asked);
  if (fault) return fault;
  const taken = takenIn(asked);
  const classes = [...new Set(taken.flatMap(([, resources]) => Object.keys(resources)))];
  const unknown = unknownClass(asked.view, classes);
  if (unknown !== undefined) return badRequest(`${asked.noClass}No such resource class ${unknown}.`);
  const providers = [...new Set(taken.map(([uuid]) => uuid))];
  const bare = providers.filter((uuid) => {
    const inventories = { ...asked.view.provider(uuid)?.inventories, ...asked.inventories?.[uuid] };
    return !classes.some((resourceClass) => inventories[resourceClass]);
  });
  return bare.length > 0 ? noInventory(bare, classes) : undefined;
}

function staleConsumer(expect: ConsumerGuard | undefined, present: number | undefined): HttpError {
  const given = expect?.kind === 'generation' ? expect.generation : 'None';
  return conflict(`consumer generation conflict - expected ${present ?? 'null'} but got ${given}`);
}

/** A retry does not help: the code differs from that of a concurrent update. */
export function foreignConsumer(uuid: string): HttpError {
  const detail = `Consumer ${uuid} belongs to an instance of Berth; its allocations change with the instance only.`;
  return new HttpError(409, detail);
}

function takenIn({ consumers }: Asked) {
  return consumers.flatMap(({ allocations }) => Object.entries(allocations));
}

function noInventory(providers: readonly string[], classes: readonly string[]): HttpError {
  const detail = `Inventory for '${classes.join(', ')}' on resource provider '${providers.join(', ')}' invalid.`;
  return new HttpError(409, `Unable to allocate inventory: ${detail}`);
}

function refusedAmount(providerUuid: string, resourceClass: string, isCapacity: boolean): HttpError {
  const because = isCapacity ? 'would exceed the capacity' : 'would violate inventory constraints';
  return new HttpError(
    409,
    `Unable to allocate inventory: Unable to create allocation for '${resourceClass}' on resource provider ` +
      `'${providerUuid}'. The requested amount ${because}.`,
  );
}
