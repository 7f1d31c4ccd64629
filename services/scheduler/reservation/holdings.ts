import { type Holding, type Reservation, type ReservedRoom, reservedRooms } from '#libs/domain/queueing/reservation';
import { holdingsOn } from '#libs/placement/commands/claims/reserved-room';
import type { PlacementView } from '#libs/placement/port/placement-view';

type HoldingView = Pick<PlacementView, 'consumer' | 'consumersOn'>;

/** The part of a mirror that shows which consumers stand beside a claim. */
export type BesidesView = HoldingView & { isReserved(providerUuid: string): boolean };

/** Holdings on a provider because of which reservations may keep less. */
export function holdings(uuid: string, view: HoldingView, except: ReadonlySet<string>): readonly Holding[] {
  const consumers = limitedOn(uuid, view).filter((one) => !except.has(one));
  return holdingsOn(
    uuid,
    consumers.map((one) => view.consumer(one)).filter((one) => one !== undefined),
  );
}

/** Consumers of such holdings on those of some providers of which something is reserved. */
export function consumersBeside(providers: Iterable<string>, view: BesidesView): readonly string[] {
  return limitedOnAny(
    [...providers].filter((uuid) => view.isReserved(uuid)),
    view,
  );
}

/** Consumers of such holdings on any of some providers. */
export function limitedOnAny(providers: Iterable<string>, view: HoldingView): readonly string[] {
  return [...new Set([...providers].flatMap((uuid) => limitedOn(uuid, view)))];
}

function limitedOn(providerUuid: string, view: HoldingView): readonly string[] {
  return [...view.consumersOn(providerUuid)].filter((uuid) => {
    const consumer = view.consumer(uuid);
    return consumer?.endsAtMs !== undefined || consumer?.reservation !== undefined;
  });
}

const grouped = new WeakMap<readonly Reservation[], ReadonlyMap<string, readonly ReservedRoom[]>>();

/** Parts of reservations by provider, made once for a list. */
export function roomsByProvider(reservations: readonly Reservation[]): ReadonlyMap<string, readonly ReservedRoom[]> {
  const known = grouped.get(reservations);
  if (known) return known;
  const byProvider = new Map<string, ReservedRoom[]>();
  for (const [uuid, room] of reservations.flatMap((one) => [...reservedRooms(one)])) {
    const rooms = byProvider.get(uuid);
    if (rooms) rooms.push(room);
    else byProvider.set(uuid, [room]);
  }
  grouped.set(reservations, byProvider);
  return byProvider;
}

/** The time by which what has a time limit has ended, if it is placed now. */
export function endOf(
  timeLimitMs: number,
  nowMs: number,
  { backfillMarginMs }: { readonly backfillMarginMs: number },
): number {
  return nowMs + timeLimitMs + backfillMarginMs;
}
