import type { Consumer } from '../../../domain/consumer';
import type { Resources } from '../../../domain/inventory';
import { type Holding, keptFrom } from '../../../domain/queueing/reservation';
import type { ConsumerWrite } from '../../port/placement-store';
import { isReservedRoom } from '../tables';
import type { Draft } from './draft';

const NOTHING: Resources = {};

/** Amounts of a provider that reservations keep from a conductor's claim, by class. */
export function reservedFrom(draft: Draft, providerUuid: string, write: ConsumerWrite): Resources {
  const rooms = Object.values(draft.read('nomination', providerUuid) ?? {}).filter(isReservedRoom);
  if (rooms.length === 0) return NOTHING;
  const { atMs, besides = [] } = draft.terms;
  // The consumers of the claim itself give back theirs.
  const others = besides.filter((uuid) => !draft.own.has(uuid)).map((uuid) => draft.read('consumer', uuid));
  const holdings = holdingsOn(
    providerUuid,
    others.filter((one) => one !== undefined),
  );
  return keptFrom({ ...write, startsAtMs: atMs }, rooms, holdings, atMs);
}

/** Holdings of consumers on a provider. */
export function holdingsOn(providerUuid: string, consumers: readonly Consumer[]): readonly Holding[] {
  return consumers.flatMap(({ allocations, projectId, reservation, endsAtMs, updatedAtMs: sinceMs }) => {
    const resources = allocations[providerUuid];
    return resources ? [{ projectId, reservation, sinceMs, endsAtMs, resources }] : [];
  });
}
