import type { IncomingMessage } from '#libs/bus/port';
import { type HostDiscrepancy, type HostRefusal, hostDiscrepancyCodec } from '#libs/contracts/compute';
import type { RunningInstance } from '#libs/contracts/stats';
import { type Instance, isAttemptOpen } from '#libs/domain/instance';
import { addResources, type Resources } from '#libs/domain/inventory';
import type { Conductor } from '../conductor';
import {
  isByForgottenClaim,
  isForgotten,
  isFromBefore,
  isMovedByForgotten,
  type LostWrites,
  mayBeForgotten,
  readLostWrites,
} from '../lost-writes';
import { lookAt, type ReconcileInput, UNREAD, type Voucher } from '../observation';
import { reconcileLoop } from '../reconcile-loop';
import { sealedFor } from '../steps/claims';
import { keepDoubt } from '../steps/note-doubt';
import { hasOrdersWaiting } from '../steps/orders';

/**
 * A host's report and the store do not agree on which instances it runs, or the host is back: each of them is looked at.
 * The agent is the authority on what runs, the record on what should.
 */
export async function onHostDiscrepancy(c: Conductor, { body }: IncomingMessage): Promise<void> {
  const discrepancy = hostDiscrepancyCodec.decode(body);
  const { host, serviceHost, epoch, position, sequence } = discrepancy;
  if (discrepancy.refusal) return noteRefusal(c, discrepancy, discrepancy.refusal);
  const unreadable = discrepancy.present.filter((instance) => instance.unreadable);
  for (const { instanceUuid } of unreadable) await noteUnreadable(c, discrepancy, instanceUuid);
  const at = { epoch, position };
  // Builds and destroys in progress are reported by themselves.
  const unclaimed = discrepancy.unclaimed.filter((instance) => instance.running);
  const present = discrepancy.present.filter((instance) => !instance.unreadable);
  const running = [...unclaimed, ...present];
  const records = await c.instances.get([...running.map(({ instanceUuid }) => instanceUuid), ...discrepancy.missing]);
  const byUuid = new Map(records.map((record) => [record.uuid, record]));
  const lost = await readLostWrites(c);
  const missing = discrepancy.missing.map((uuid) => byUuid.get(uuid)).filter((record) => record !== undefined);
  const isWaiting = missing.some(isAttemptOpen) && (await hasOrdersWaiting(c, serviceHost));
  const strays = await straysOf(
    c,
    host,
    running.filter(({ instanceUuid }) => !byUuid.has(instanceUuid)),
  );
  const left = await leftByTheirHosts(c, host, running, { records: byUuid, lost });
  const runs = (isClaimed: boolean) => (instance: RunningInstance) => {
    const uuid = instance.instanceUuid;
    return lookAtRunning(c, discrepancy, instance, {
      isClaimed,
      record: byUuid.get(uuid),
      lost,
      wasStray: strays.has(uuid),
      isLeft: left.has(uuid),
    });
  };
  await reconcileLoop(c, [
    ...unclaimed.map(runs(false)),
    ...present.map(runs(true)),
    ...missing.map((record) => lookAt(record, { kind: 'missing', host, at, sequence, hasOrdersWaiting: isWaiting })),
  ]);
  if (discrepancy.saidAfterMs) await noteHeard(c, discrepancy, discrepancy.saidAfterMs, lost);
}

/**
 * All that the host said was worked on. What is being built or destroyed there by an order from before the store went back is neither
 * there nor not, and so are orders that wait, until they are too late: the host is to say it once more.
 */
async function noteHeard(
  c: Conductor,
  { host, serviceHost, changing = [] }: HostDiscrepancy,
  saidAfterMs: number,
  lost: LostWrites,
): Promise<void> {
  const records = await c.instances.get(changing.map(({ instanceUuid }) => instanceUuid));
  if (records.some((record) => isFromBefore(record, lost))) return;
  const mayBeInTime = c.clock.now() - lost.upToMs < c.config.buildTimeoutMs;
  if (mayBeInTime && (await hasOrdersWaiting(c, serviceHost))) return;
  await c.placement.commit({ kind: 'note_heard', atMs: c.clock.now(), host, saidAfterMs });
}

/**
 * Instances that run here by a move that the store forgot, and that the host of their record has left: it is dead, or its report
 * lacks the instance, or keeps it for a move. A record on its way says itself that it leaves its host.
 */
async function leftByTheirHosts(
  c: Conductor,
  host: string,
  running: readonly RunningInstance[],
  { records, lost }: { readonly records: ReadonlyMap<string, Instance>; readonly lost: LostWrites },
): Promise<ReadonlySet<string>> {
  const moved = running
    .filter((one) => isMovedByForgotten(records.get(one.instanceUuid), one, lost))
    .map(({ instanceUuid }) => records.get(instanceUuid))
    .filter((record) => record !== undefined && record.host !== host) as Instance[];
  if (moved.length === 0) return new Set();
  const hosts = await c.placement.hosts([...new Set(moved.map((record) => record.host ?? ''))]);
  const up = new Set(hosts.filter((one) => one.up).map(({ name }) => name));
  const isLeft = ({ host: own = '', missingIn, migration }: Instance) => !up.has(own) || missingIn || migration;
  return new Set(moved.filter(isLeft).map(({ uuid }) => uuid));
}

/** Unknown instances that were seen on this host while a record placed them elsewhere. */
async function straysOf(c: Conductor, host: string, unknown: readonly RunningInstance[]): Promise<ReadonlySet<string>> {
  const names = unknown.map(({ instanceUuid }) => ({ instanceUuid, host, finding: 'stray' }));
  const strays = await c.instances.getDoubts(names);
  return new Set(strays.map(({ instanceUuid }) => instanceUuid));
}

async function noteUnreadable(
  c: Conductor,
  { host, reporter: source }: HostDiscrepancy,
  instanceUuid: string,
): Promise<void> {
  const message =
    'its host can not read what it remembers of it, and keeps it as it is: terminate it, or build it again';
  await keepDoubt(c, 'journal_unreadable', { instanceUuid, host, source, message });
}

/** An agent is not heard: whatever runs on its host is not known. */
async function noteRefusal(
  c: Conductor,
  { host, reporter: source }: HostDiscrepancy,
  { reason, message }: HostRefusal,
): Promise<void> {
  await keepDoubt(c, 'host_refused', { instanceUuid: '', host, source, message: `${reason}: ${message}` });
}

/** Facts about an instance besides its host's report. */
interface KnownOfIt {
  readonly isClaimed: boolean;
  readonly record: Instance | undefined;
  readonly lost: LostWrites;
  /** True for an unknown instance that was seen on this host while a record placed it elsewhere. */
  readonly wasStray: boolean;
  /** True when the host of its record has left it. */
  readonly isLeft: boolean;
}

function lookAtRunning(
  c: Conductor,
  discrepancy: HostDiscrepancy,
  instance: RunningInstance,
  { isClaimed, record, lost, wasStray, isLeft }: KnownOfIt,
): ReconcileInput {
  const { host, providerUuid, epoch, position, reporter } = discrepancy;
  const isVouched = isForgotten(record, instance, lost) || isLeft;
  const voucher = isVouched ? voucherOf(c, discrepancy, instance, lost) : undefined;
  const at = { epoch, position };
  const claim = { isClaimed, isByForgottenClaim: isByForgottenClaim(record, instance, lost) };
  const observed = {
    kind: 'running',
    host,
    providerUuid,
    at,
    ...claim,
    instance,
    voucher,
    wasStray,
    reporter,
  } as const;
  return { uuid: instance.instanceUuid, record, holds: UNREAD, observed };
}

/**
 * The allocation request sealed for exactly this instance and host. A report older than the time for which deleted records are
 * kept proves nothing: the record may have ended since, and have been forgotten.
 */
function voucherOf(
  c: Conductor,
  discrepancy: HostDiscrepancy,
  instance: RunningInstance,
  lost: LostWrites,
): Voucher | undefined {
  const { host, atMs } = discrepancy;
  const { retentionMs } = c.config;
  const nowMs = c.clock.now();
  if (nowMs - atMs > retentionMs) return undefined;
  const request = sealedFor(c, instance.allocationRequest, instance.instanceUuid, host);
  if (request === undefined || !mayBeForgotten(request, lost, { nowMs, retentionMs })) return undefined;
  const { projectId, userId, allocations } = request;
  return {
    isSealed: true,
    projectId,
    userId,
    resources: Object.values(allocations).reduce<Resources>(addResources, {}),
    capacities: request.capacities && sealedCapacities(c, discrepancy),
  };
}

const knownCapacities = new WeakMap<HostDiscrepancy, Resources>();

/** By all that a host shows, as it may have grown since an older instance was sealed: once for a report, which may have a thousand. */
function sealedCapacities(c: Conductor, discrepancy: HostDiscrepancy): Resources {
  const last = knownCapacities.get(discrepancy);
  if (last) return last;
  const capacities: Record<string, number> = {};
  for (const { allocationRequest, instanceUuid } of [...discrepancy.present, ...discrepancy.unclaimed]) {
    const sealed = sealedFor(c, allocationRequest, instanceUuid, discrepancy.host)?.capacities ?? {};
    for (const name in sealed) capacities[name] = Math.max(capacities[name] ?? 0, sealed[name] as number);
  }
  knownCapacities.set(discrepancy, capacities);
  return capacities;
}
