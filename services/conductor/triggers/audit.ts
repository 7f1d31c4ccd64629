import { type Consumer, isClaimOf } from '#libs/domain/consumer';
import type { Host } from '#libs/domain/host';
import { BUILT_STATES, type Instance } from '#libs/domain/instance';
import { instanceOfConsumer, MIGRATION_CONSUMER } from '#libs/domain/moves/migration';
import { isReservation } from '#libs/domain/queueing/place-lease';
import { NEEDING_ALTERNATES } from '../alternates/held-alternates';
import type { Conductor } from '../conductor';
import { endForgottenEpochs } from '../losses/forgotten-epochs';
import { lookAt, type Observation, type ReconcileInput, UNREAD } from '../observation';
import { reconcileLoop } from '../reconcile-loop';
import { auditGroups, type Place, placesOf } from './audit-groups';
import { type DeviceHolder, deviceHolders, moveOffTainted } from './devices/device-taints';
import { destroyBeforeForgetting, forgetEnded } from './forget-ended';

/** The lease that the conductor which audits holds. */
export const AUDIT_LEASE = 'audit';
/**
 * Looks at every claim with its record, and at every active record with its claim and its host, when neither has changed
 * for the grace period, and at what waits for a host that has been down for as long: a build goes to the next host before its
 * deadline, a move goes back, what was to be destroyed there is owed. Groups whose hard policy is broken are shown; what is to leave its device is moved. Then it forgets records of what was deleted or ended in error long ago. One conductor at a time runs
 * it, by lease; two at once would do no harm. Consumers of the placement API's clients are left alone.
 */
export async function audit(c: Conductor, holder: string): Promise<void> {
  const lease = await c.leases.acquire(AUDIT_LEASE, holder, c.config.auditIntervalMs * 2);
  if (!lease) return;
  const nowMs = c.clock.now();
  const forgetBeforeMs = nowMs - c.config.retentionMs;
  const settledBeforeMs = nowMs - c.config.auditGraceMs;
  const isSettled = ({ updatedAtMs }: { readonly updatedAtMs: number }) => updatedAtMs < settledBeforeMs;
  const count = { claims: 0, active: 0 };
  const places: Place[] = [];

  const onDevices: DeviceHolder[] = [];
  await c.placement.scanConsumers(async (consumers) => {
    onDevices.push(...deviceHolders(consumers));
    const claims = consumers.filter((consumer) => consumer.owner === 'conductor' && isSettled(consumer));
    const records = await c.instances.get(claims.map(instanceOfConsumer));
    const byUuid = new Map(records.map((record) => [record.uuid, record]));
    count.claims += claims.length;
    places.push(...placesOf(claims));
    const reservedSinceMs = nowMs - c.config.reservationMs;
    const looks = claims.map((claim) =>
      lookAtHeld(claim, byUuid.get(instanceOfConsumer(claim)), isSettled, reservedSinceMs),
    );
    await reconcileLoop(
      c,
      looks.filter((look) => look !== undefined).filter(({ record }) => record === undefined || isSettled(record)),
    );
  });

  await auditGroups(c, places);
  await moveOffTainted(c, onDevices);
  await c.instances.scan(async (records) => {
    const active = records.filter((record) => isActive(record) && isSettled(record));
    const working = records.filter((record) => WAITS_FOR_HOST.includes(record.state) && isSettled(record));
    const deleting = records.filter(({ state, migration }) => state === 'deleting' && migration === undefined);
    const [holders, hosts] = await Promise.all([
      c.placement.consumers(active.map(({ uuid }) => uuid)),
      c.placement.hosts([...new Set([...active, ...working, ...deleting].map(({ host = '' }) => host))]),
    ]);
    const projects = new Map(active.map(({ uuid, projectId }) => [uuid, { projectId }]));
    const isOwn = (one: Consumer) => isClaimOf(projects.get(one.uuid) ?? one, one);
    const held = new Set(holders.filter(isOwn).map(({ uuid }) => uuid));
    const byName = new Map(hosts.map((host) => [host.name, host]));
    count.active += active.length;
    const looks = active.map((record) => {
      const hostIs = stateOfHost(byName.get(record.host ?? ''), isSettled);
      return lookAtActive(record, held.has(record.uuid), { kind: 'audited', hostIs });
    });
    const isDead = (host: Host | undefined) => host !== undefined && !host.up && isSettled(host);
    const stuck = working.filter(({ host = '' }) => isDead(byName.get(host)));
    await reconcileLoop(c, [
      ...looks.filter((look) => look !== undefined),
      ...stuck.map((record) => lookAt(record, { kind: 'audited', hostIs: 'down' })),
      // It died after it was told: nobody else would say so before the time-out.
      ...deleting
        .filter(({ host = '' }) => byName.get(host)?.up === false)
        .map((record) => lookAt(record, { kind: 'host_down' })),
    ]);
    await endForgottenEpochs(c, active, byName);
    await destroyBeforeForgetting(c, records, forgetBeforeMs);
  });

  await settleUnseen(c, nowMs);
  const forgotten = await forgetEnded(c, forgetBeforeMs);
  c.measured.audits.inc();
  c.log.info({ event: 'audit_done', ...count, forgotten, epoch: lease.epoch }, 'audit done');
}

/** Its host is to answer an order: from one that is dead nothing comes before the deadline. */
const WAITS_FOR_HOST: readonly Instance['state'][] = [
  'building',
  'resize',
  'migrating',
  'revert_resize',
  'shelving',
  'preempting',
  'undoing',
];

/** A doubt ends when nobody has found it for a while, though its host was heard since and would have said so, or is gone. */
async function settleUnseen(c: Conductor, nowMs: number): Promise<void> {
  const unseen = (await c.instances.listDoubts()).filter(({ seenAtMs }) => seenAtMs < nowMs - c.config.doubtMs);
  if (unseen.length === 0) return;
  const names = [...new Set(unseen.map(({ host }) => host))];
  const [hosts, heardAt] = await Promise.all([c.placement.hosts(names), c.placement.heardAt(names)]);
  const known = new Set(hosts.map(({ name }) => name));
  const settled = unseen.filter(({ host, seenAtMs }) => !known.has(host) || (heardAt.get(host) ?? 0) > seenAtMs);
  await Promise.all(settled.map((doubt) => c.instances.settleDoubt(doubt)));
}

/**
 * Reservations for alternates have no owner once their instance is not being built, or their time is over. A migration's claim
 * has none without a record on that move; with one, the record is looked at.
 */
function lookAtHeld(
  claim: Consumer,
  record: Instance | undefined,
  isSettled: (record: Instance) => boolean,
  reservedSinceMs: number,
): ReconcileInput | undefined {
  if (isReservation(claim)) {
    const isUsed = record !== undefined && NEEDING_ALTERNATES.includes(record.state);
    return isUsed && claim.updatedAtMs > reservedSinceMs ? undefined : lookAtClaim(claim, undefined);
  }
  if (claim.consumerType !== MIGRATION_CONSUMER)
    return lookAtClaim(claim, record && isClaimOf(record, claim) ? record : undefined);
  // The claim of a move that a loss made the store forget holds its place until it is claimed again.
  const isUnclaimed = record !== undefined && isActive(record) && record.claimToken === undefined;
  if (record && (record.migration || isUnclaimed || !isSettled(record))) return undefined;
  return lookAtClaim(claim, undefined);
}

/** A claim other than the record's is read again with its host. */
function lookAtClaim({ uuid, claimToken, consumerType }: Consumer, record: Instance | undefined): ReconcileInput {
  const observed = { kind: 'audited', hostIs: 'unsettled' } as const;
  const isAnother = record !== undefined && isActive(record) && record.claimToken !== claimToken;
  return {
    uuid,
    record,
    observed,
    holds: isAnother ? UNREAD : { kind: 'claim', claimToken, isOnHost: true, consumerType },
  };
}

/** Undefined when there is nothing to look at: most hold their claims, which were looked at with those. */
function lookAtActive(
  record: Instance,
  isHeld: boolean,
  observed: Extract<Observation, { kind: 'audited' }>,
): ReconcileInput | undefined {
  if (!isHeld) return { ...lookAt(record, observed), holds: { kind: 'none' } };
  const isAtRest = record.migration === undefined && isAsItsHost(record, observed.hostIs);
  return isAtRest ? undefined : lookAt(record, observed);
}

/** A host that has come back has had the time to say what it lacks. */
function stateOfHost(host: Host | undefined, isSettled: (host: Host) => boolean) {
  if (host === undefined) return 'unsettled';
  if (!host.up) return 'down';
  return isSettled(host) ? 'up' : 'unsettled';
}

function isAsItsHost({ state }: Instance, hostIs: 'up' | 'down' | 'unsettled'): boolean {
  switch (state) {
    case 'active':
      return hostIs !== 'down';
    case 'unknown':
      return hostIs !== 'up';
    default:
      // Only its host knows whether it is still stopped.
      return state !== 'stopped';
  }
}

function isActive({ state }: Instance): boolean {
  return BUILT_STATES.includes(state) || state === 'verify_resize';
}
