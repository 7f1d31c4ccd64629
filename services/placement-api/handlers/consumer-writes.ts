import type { Allocations, Consumer } from '#libs/domain/consumer';
import type { Resources } from '#libs/domain/inventory';
import { isDerivedUuid } from '#libs/domain/names';
import type { ConsumerGuard, ConsumerWrite } from '#libs/placement/port/placement-store';
import { tooMany } from '../http/body-bounds';
import { badRequest } from '../http/http-error';
import { type Microversion, SINCE } from '../http/microversion';
import { normalUuid } from '../http/uuid';
import type { Placement } from '../placement';

/** Project and user of consumers written before microversion 1.8, which had none. */
const UNKNOWN_OWNER = '00000000-0000-0000-0000-000000000000';

/** The body for one consumer; until 1.11 the allocations are a list. */
export interface ConsumerBody {
  readonly allocations: KeyedAllocations | ListedAllocations;
  readonly project_id?: string;
  readonly user_id?: string;
  readonly consumer_generation?: number | null;
  readonly consumer_type?: string;
  readonly mappings?: Readonly<Record<string, readonly string[]>>;
}

export type KeyedAllocations = Readonly<Record<string, { readonly resources: Resources }>>;

type ListedAllocations = readonly {
  readonly resource_provider: { readonly uuid: string };
  readonly resources: Resources;
}[];

/** The allocations of a body, by provider. */
function allocationsOf({ allocations }: ConsumerBody): Allocations {
  const entries = isList(allocations)
    ? allocations.map(({ resource_provider: { uuid }, resources }) => [uuid, resources] as const)
    : Object.entries(allocations).map(([uuid, { resources }]) => [uuid, resources] as const);
  return Object.fromEntries(entries);
}

function isList(allocations: ConsumerBody['allocations']): allocations is ListedAllocations {
  return Array.isArray(allocations);
}

/**
 * The store's command parts for bodies by consumer. Fields unknown to an old microversion keep their values.
 *
 * @throws HttpError 413 when they allocate more amounts than one commit takes
 */
export async function consumerWrites(
  bodies: Readonly<Record<string, ConsumerBody>>,
  version: Microversion,
  placement: Placement,
): Promise<ConsumerWrite[]> {
  requireFew(bodies, placement.config.maxAllocations);
  const isNew = (body: ConsumerBody) => version >= SINCE.consumerGeneration && body.consumer_generation === null;
  // Most claims are for new consumers, which need no read.
  const view = Object.values(bodies).every(isNew) ? placement.recent : await placement.now();
  return Object.entries(bodies).map(([key, body]): ConsumerWrite => {
    const uuid = consumerUuid(key);
    if (isDerivedUuid(uuid)) throw badRequest(`Consumer uuid ${uuid} is reserved: choose one that RFC 9562 defines.`);
    const present = view.consumer(uuid);
    const allocations = allocationsOf(body);
    return {
      uuid,
      projectId: body.project_id ?? UNKNOWN_OWNER,
      userId: body.user_id ?? UNKNOWN_OWNER,
      consumerType: version >= SINCE.consumerType ? body.consumer_type : present?.consumerType,
      owner: 'api',
      allocations,
      mappings: body.mappings ?? {},
      raisesReleased: Object.keys(allocations).length === 0,
      expect: guardOf(body, version),
    };
  });
}

function requireFew(bodies: Readonly<Record<string, ConsumerBody>>, most: number): void {
  let count = 0;
  for (const body of Object.values(bodies)) {
    for (const resources of Object.values(allocationsOf(body))) count += Object.keys(resources).length;
  }
  if (count > most) throw tooMany(`${count} amounts to allocate; at most ${most}`, 'BERTH_PLACEMENT_MAX_ALLOCATIONS');
}

function guardOf({ consumer_generation: generation }: ConsumerBody, version: Microversion): ConsumerGuard {
  if (version < SINCE.consumerGeneration || generation === undefined) return { kind: 'any' };
  return generation === null ? { kind: 'absent' } : { kind: 'generation', generation };
}

export function removal(uuid: string): ConsumerWrite {
  const owner = { projectId: UNKNOWN_OWNER, userId: UNKNOWN_OWNER, consumerType: undefined, owner: 'api' } as const;
  return { uuid, ...owner, allocations: {}, mappings: {}, expect: { kind: 'any' } };
}

export function consumerUuid(text = ''): Consumer['uuid'] {
  return normalUuid(text) ?? text;
}
