import { internedSpecs } from '#libs/contracts/interned-specs';
import type { Consumer } from '#libs/domain/consumer';
import { BerthError } from '#libs/domain/errors';
import { resolveSpec } from '#libs/domain/extra-specs/resolve';
import type { InstanceRow } from '#libs/domain/instance';
import { addResources, inventory, MAX_AMOUNT, type Resources } from '#libs/domain/inventory';
import type { QuotaExcess } from '#libs/domain/quotas/quota';
import type { NamedGroup } from '#libs/domain/server-group';
import type { CommitResult, ConsumerWrite } from '#libs/placement/port/placement-store';
import type { TopConductor } from '../context';
import { membershipIn, type Place } from './place';

/**
 * The provider of the fleet's reservations: instances count against their projects' quotas at the top by allocations of
 * this provider, which has capacity for all, in the top's own store. So the quota rule is that of a cell's claims,
 * checked in the same commit.
 *
 * Two phases: a request's resources are reserved before any cell is asked, for all of its instances or none; the cell
 * claims; a failed or ended instance releases its reservation with its record's last version. A crash in between leaves
 * a reservation without an instance, or the reverse: `settleReservations` repairs that.
 */
export const FLEET_PROVIDER = '0be72ee7-f1ee-4000-8000-000000000001';

/** The outcome of a reservation. Except for `reserved`, nothing was reserved. */
export type Reserved =
  | { readonly kind: 'reserved' }
  | { readonly kind: 'quota'; readonly excess: readonly QuotaExcess[] }
  /** Their group must be elsewhere: in the cell of its other members, or in a zone with fewer of them. */
  | { readonly kind: 'elsewhere' }
  /** A reservation was overwritten since it was read. */
  | { readonly kind: 'changed' };

/**
 * Reserves the instances' resources, and their membership in their group's cell, or zone: the recorded one, or that of
 * `placeOf`, one after the other, all or none. Idempotent.
 */
export function reserve(
  t: TopConductor,
  records: readonly InstanceRow[],
  placeOf: (record: InstanceRow) => Place | undefined = onRecord,
): Promise<Reserved> {
  const writes = records.map((record) => writeOf(record, takenBy(record.requestSpec), placeOf(record)));
  return commitReservation(t, writes, 'within_quota');
}

/**
 * Reserves an instance's resources during a resize: the larger of both sizes of each class. Returns the outcome like
 * `reserve`.
 */
export function reserveForResize(t: TopConductor, record: InstanceRow, requestSpec: Uint8Array): Promise<Reserved> {
  const [now, then] = [takenBy(record.requestSpec), takenBy(requestSpec)];
  const names = [...new Set([...Object.keys(now), ...Object.keys(then)])];
  const most = Object.fromEntries(names.map((name) => [name, Math.max(now[name] ?? 0, then[name] ?? 0)]));
  return commitReservation(t, [writeOf(record, most)], 'within_quota');
}

/** Reserves a running instance's resources whatever the quota. */
export async function reserveRunning(t: TopConductor, record: InstanceRow): Promise<void> {
  await commitReservation(t, [writeOf(record)], 'forced');
}

/**
 * Counts a member in another place, or keeps it in its place, if its reservation is unchanged since it was read.
 * Afterwards, writers that read it before are refused.
 *
 * @param place  the new place, if its group allows; undefined to stay, whatever its group allows
 */
export function reserveMove(
  t: TopConductor,
  record: InstanceRow,
  held: Consumer | undefined,
  place: Place | undefined,
): Promise<Reserved> {
  const write = { ...writeOf(record, takenBy(record.requestSpec), place ?? onRecord(record)), expect: asRead(held) };
  return commitReservation(t, [write], place ? 'as_group_allows' : 'forced');
}

/**
 * Reserves the resources of instances without a reservation, or with one for another place than the recorded one.
 *
 * Reservations are read before the records, and written only if unchanged since: a later writer knows the present
 * record, or checks it again itself.
 */
export async function reserveAsOnRecord(t: TopConductor, uuids: readonly string[]): Promise<void> {
  const held = new Map((await t.placement.consumers(uuids)).map((one) => [one.uuid, one]));
  for (const record of await t.instances.get(uuids)) {
    const has = held.get(record.uuid);
    // An instance on a move to another zone may be counted there already: the conductor of the move knows.
    if (record.cell?.move?.zone !== undefined) continue;
    if (!isCounted(record) || isMoving(record) || isReserved(record, has)) continue;
    await commitReservation(t, [{ ...writeOf(record), expect: asRead(has) }], 'forced');
  }
}

/** The server group of an instance. */
export function groupOf({ requestSpec }: Pick<InstanceRow, 'requestSpec'>): NamedGroup | undefined {
  return readSpec(requestSpec).group;
}

/** Releases the reservations of instances, if any. */
export async function release(t: TopConductor, records: readonly Pick<InstanceRow, 'uuid' | 'projectId' | 'userId'>[]) {
  if (records.length > 0)
    await commitReservation(
      t,
      records.map((record) => consumerOf(record, {})),
      'forced',
    );
}

/** True when an instance counts: not once it has ended, nor while it is shelved. */
export function isCounted({ state }: Pick<InstanceRow, 'state'>): boolean {
  return state !== 'deleted' && state !== 'error' && state !== 'shelved_offloaded';
}

/** True during a resize, which reserves the larger of both sizes. */
export function isMoving({ state }: Pick<InstanceRow, 'state'>): boolean {
  return state === 'resize' || state === 'verify_resize' || state === 'revert_resize';
}

/** Records read at once. */
const CHUNK = 500;

/**
 * Reserves for instances without a reservation, and releases reservations without an instance, except those changed
 * after `beforeMs`. An instance is recorded before it reserves, so no release is premature.
 */
export async function settleReservations(t: TopConductor, beforeMs: number): Promise<void> {
  await t.instances.scan(async (rows) => {
    const settled = rows.filter((record) => isCounted(record) && !isMoving(record) && record.updatedAtMs < beforeMs);
    for (let from = 0; from < settled.length; from += CHUNK) {
      const chunk = settled.slice(from, from + CHUNK);
      await reserveAsOnRecord(
        t,
        chunk.map(({ uuid }) => uuid),
      );
    }
  });
  await t.placement.scanConsumers(async (consumers) => {
    const settled = consumers.filter(({ owner, updatedAtMs }) => owner === 'conductor' && updatedAtMs < beforeMs);
    const records = await t.instances.get(settled.map(({ uuid }) => uuid));
    const counted = new Set(records.filter(isCounted).map(({ uuid }) => uuid));
    await release(
      t,
      settled.filter(({ uuid }) => !counted.has(uuid)),
    );
  });
}

/**
 * Custom classes unknown to the top are not counted: such reservations are rewritten needlessly until it knows them.
 */
function isReserved(record: InstanceRow, held: Consumer | undefined): boolean {
  const member = membershipIn(record.cell, groupOf(record));
  if (held?.groupHost !== member?.host || held?.groupDomain?.domain !== member?.spread?.domain) return false;
  const has = held?.allocations[FLEET_PROVIDER] ?? {};
  const wanted = takenBy(record.requestSpec);
  return [...new Set([...Object.keys(has), ...Object.keys(wanted)])].every((name) => has[name] === wanted[name]);
}

/** The parts of a spec that reservations use. */
const readSpec = internedSpecs((spec) => {
  const { resources, requestGroups, group } = resolveSpec(spec, 'request_spec');
  return { takes: [resources, ...requestGroups.map((one) => one.resources)].reduce(addResources, {}), group };
});

function takenBy(encoded: Uint8Array): Resources {
  return readSpec(encoded).takes;
}

function onRecord({ cell }: InstanceRow): Place | undefined {
  return cell;
}

function writeOf(
  record: InstanceRow,
  resources = takenBy(record.requestSpec),
  place = onRecord(record),
): ConsumerWrite {
  const write = consumerOf(record, { [FLEET_PROVIDER]: resources });
  const group = membershipIn(place, groupOf(record));
  return group ? { ...write, group } : write;
}

function consumerOf(
  { uuid, projectId, userId }: Pick<InstanceRow, 'uuid' | 'projectId' | 'userId'>,
  allocations: ConsumerWrite['allocations'],
): ConsumerWrite {
  const who = { uuid, projectId, userId, consumerType: 'INSTANCE', owner: 'conductor' } as const;
  return { ...who, allocations, mappings: {}, expect: { kind: 'any' } };
}

function asRead(held: Consumer | undefined): ConsumerWrite['expect'] {
  return held ? { kind: 'generation', generation: held.generation } : { kind: 'absent' };
}

/** Exceeds the number of classes in a request. */
const MAX_TRIES = 64;

async function commitReservation(
  t: TopConductor,
  consumers: readonly ConsumerWrite[],
  how: 'within_quota' | 'as_group_allows' | 'forced',
): Promise<Reserved> {
  const terms = { force: how === 'forced', withinQuota: how === 'within_quota' };
  let wanted = consumers;
  let result: CommitResult | undefined;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    result = await t.placement.commit({ kind: 'write_allocations', atMs: t.clock.now(), consumers: wanted, ...terms });
    if (result.kind === 'committed' || result.kind === 'unchanged') return { kind: 'reserved' };
    if (result.kind === 'quota') return result;
    if (result.kind === 'group') return { kind: 'elsewhere' };
    if (result.kind === 'generation') return { kind: 'changed' };
    if (result.kind !== 'not_found') break;
    const { subject, key } = result;
    // No host of any cell has ever had the class (the top's schedulers would know it): nobody can use it.
    if (subject === 'resource_class') wanted = wanted.map((one) => without(one, key));
    else if (subject === 'provider') await makeFleetProvider(t);
    else await addClass(t, key.split(' ')[1] ?? '');
  }
  throw new BerthError('internal', 'unexpected_commit', `a reservation was answered '${result?.kind}'`);
}

async function makeFleetProvider(t: TopConductor): Promise<void> {
  const provider = { uuid: FLEET_PROVIDER, name: 'fleet', parentUuid: undefined, mode: 'create' } as const;
  await t.placement.commit({ kind: 'put_provider', atMs: t.clock.now(), ...provider });
}

/** Capacity for a million times the most that one host may have. */
const UNBOUNDED = inventory(MAX_AMOUNT, { allocationRatio: 1_000_000 });

async function addClass(t: TopConductor, name: string): Promise<void> {
  const change = {
    providerUuid: FLEET_PROVIDER,
    generation: undefined,
    replace: false,
    inventories: { [name]: UNBOUNDED },
  };
  await t.placement.commit({ kind: 'write_inventories', atMs: t.clock.now(), ...change });
}

function without(one: ConsumerWrite, resourceClass: string): ConsumerWrite {
  const { [resourceClass]: _unknown, ...rest } = one.allocations[FLEET_PROVIDER] ?? {};
  return { ...one, allocations: Object.keys(rest).length === 0 ? {} : { [FLEET_PROVIDER]: rest } };
}
