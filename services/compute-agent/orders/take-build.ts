import { isDeepStrictEqual } from 'node:util';
import { ACK, REQUEUE, type Settlement } from '#libs/bus/port';
import { trackedInstance } from '../host/build-order';
import type { BuildEnd } from '../host/builds';
import type { ConcludedBuild } from '../host/ended/concluded-builds';
import { type Host, refreshExternalUsage, retryUntilDrainEnd } from '../host/host';
import { type Judgement, judgeBuild, type OwnTruth, UUID_TAKEN } from '../host/instance-claim';
import { ownProviders } from '../host/own-providers';
import type { BuildOrder, TrackedInstance } from '../host/tracked-instance';
import { undoBuild } from '../host/undo-build';
import { attemptFields, DESTROYED, reportBuild } from '../reports/report-build';
import { keepInstance } from './keep-instance';
import { refuseBuild } from './refuse-build';
import { takeArrivalInPlace } from './take-arrival';

/** Executes a BuildInstance, or reports the refusal. Settled once the outcome is reported. */
export async function takeBuild(host: Host, given: BuildOrder): Promise<Settlement> {
  if (given.arrival?.inPlace) return takeArrivalInPlace(host, given);
  const order = { ...given, deadlineAtMs: deadlineHere(given, host) };
  // An earlier destroy is awaited, and a later one finds the decision; the build itself runs outside the lock, so
  // that it can be cancelled.
  const { settled } = await host.locks.run(order.instanceUuid, async () => {
    const decision = (await restoreEntry(host, order)) ?? decide(host, order);
    if (decision.kind === 'refuse') await undoBegun(host, order.instanceUuid);
    if (decision.kind === 'join') return join(host, order, decision.tracked);
    return { settled: execute(host, order, decision) };
  });
  holdUntil(host, order.instanceUuid, settled);
  return settled;
}

/**
 * Restores an unreadable journal entry, and that of a running instance which has none (the journal is an older copy):
 * a build would end it and begin anew. Resolves to the refusal when it is another project's. Updates external usage.
 */
async function restoreEntry(host: Host, order: BuildOrder): Promise<Judgement | undefined> {
  const { unreadable, driver, ledger, tombstones } = host;
  const { instanceUuid: uuid, arrival } = order;
  const running = (await refreshExternalUsage(host)).find(({ id }) => id === uuid);
  const mayLackEntry = !ledger.get(uuid) && !tombstones.has(uuid) && !arrival && !driver.carriesOn;
  if (!unreadable.has(uuid) && !mayLackEntry) return undefined;
  if (running?.projectId !== undefined && running.projectId !== order.projectId) return UUID_TAKEN;
  if (running && !(await keepInstance(host, trackedInstance(order, 'running')))) return undefined;
  unreadable.delete(uuid);
  if (running) await refreshExternalUsage(host);
  return undefined;
}

function holdUntil({ ordersInHand }: Host, uuid: string, settled: Promise<Settlement>): void {
  const inHand = Promise.allSettled([ordersInHand.get(uuid), settled]).then(() => {
    if (ordersInHand.get(uuid) === inHand) ordersInHand.delete(uuid);
  });
  ordersInHand.set(uuid, inHand);
}

/**
 * The deadline by this process's own clock (`Clock.elapsed`); 0 for none. It is in store time, which the grant of the
 * host tells, and each answer to a report: an order that waited does not get its time anew.
 */
function deadlineHere(
  { deadlineAtMs, timeLeftMs }: BuildOrder,
  { clock, lease }: Pick<Host, 'clock' | 'lease'>,
): number {
  const nowMs = clock.elapsed();
  const storeNowMs = lease.storeNowMs();
  const byStore = deadlineAtMs > 0 && storeNowMs !== undefined ? deadlineAtMs - storeNowMs : Infinity;
  const leftMs = Math.min(byStore, timeLeftMs > 0 ? timeLeftMs : Infinity);
  if (leftMs === Infinity) return deadlineAtMs === 0 ? 0 : nowMs + deadlineAtMs - clock.now();
  return Math.max(1, nowMs + leftMs);
}

/** The verdict on an order, with its earlier outcome if any, or `over` when another run may hold the host. */
type Decision = Judgement | { readonly kind: 'ended'; readonly result: ConcludedBuild } | { readonly kind: 'over' };

function decide(host: Host, order: BuildOrder): Decision {
  if (host.isOver?.()) return { kind: 'over' };
  const result = host.ledger.get(order.instanceUuid) === undefined ? host.concluded.resultOf(order) : undefined;
  return result ? { kind: 'ended', result } : judge(host, order);
}

/** Holds the instance's resources while it waits. */
async function execute(
  host: Host,
  order: BuildOrder,
  decision: Exclude<Decision, { kind: 'join' }>,
): Promise<Settlement> {
  switch (decision.kind) {
    case 'over':
      return REQUEUE;
    case 'ended':
      return reportBuild(host, order, decision.result);
    case 'build':
      return settle(host, order, await build(host, order));
    case 'refuse':
      return reportConcluded(host, order, refuseBuild(host, order, decision));
    case 'destroyed':
      return reportBuild(host, order, DESTROYED);
    case 'ignore':
      host.log.debug({ event: 'build_superseded', ...attemptFields(host, order) }, 'ignored a superseded attempt');
      return ACK;
  }
}

/**
 * Destroys a refused instance that another run may have begun to build, since nobody continues it. A repeated build
 * order, from a conductor that misses the instance, waits until nothing of it is left: the two must not run at once.
 */
async function undoBegun(host: Host, uuid: string): Promise<void> {
  if (!host.driver.carriesOn || host.ledger.get(uuid)) return;
  const fields = { event: 'build_not_undone', host: host.facts.name, instance_uuid: uuid };
  await retryUntilDrainEnd(
    host,
    () => undoBuild(host, uuid),
    (error) => host.log.warn({ ...fields, error }, 'build not undone, retrying'),
  );
}

function judge(host: Host, order: BuildOrder): Judgement {
  const { ledger, tombstones } = host;
  const uuid = order.instanceUuid;
  return judgeBuild(order, ledger.get(uuid), tombstones.covers(uuid, order), truthOf(host));
}

/** The host's own state now. */
export function truthOf({ ledger, facts, driver, external, clock }: Host): OwnTruth {
  return {
    host: facts.name,
    providers: ownProviders(facts.providerUuid, driver.capacity()),
    usedOn: (providerUuid) => ledger.usedOn(providerUuid),
    external: external.byProvider,
    nowMs: clock.elapsed(),
  };
}

async function build(host: Host, order: BuildOrder): Promise<BuildEnd> {
  const { clock, counters, log, builds } = host;
  const startedAtMs = clock.elapsed();
  const ending = builds.run(order);
  host.reportSoon();
  const end = await ending;
  host.reportSoon();
  counters.builds.inc({ outcome: end.kind });
  counters.buildSeconds.observe({ outcome: end.kind }, (clock.elapsed() - startedAtMs) / 1000);
  const fields = attemptFields(host, order);
  if (end.kind === 'failed') log.warn({ event: 'build_failed', ...fields, error: end.error }, 'build failed');
  else log.debug({ event: 'build_ended', ...fields, outcome: end.kind }, 'build ended');
  return end;
}

/**
 * The instance is here by this attempt or an older one: it becomes this attempt's, in the journal before anything is
 * reported. The caller has the instance's lock, so that one of two copies of an order writes.
 */
async function join(
  host: Host,
  order: BuildOrder,
  tracked: TrackedInstance,
): Promise<{ readonly settled: Promise<Settlement> }> {
  const { ledger, builds } = host;
  const { resources, allocations = {}, attempt, poweredAt } = tracked;
  // The position of the last stop or start stays, so that copies of earlier orders remain late; so does, within an
  // attempt, the handover.
  const known = attempt === order.attempt ? tracked : { poweredAt };
  const deadlineAtMs = Math.max(order.orderedDeadlineAtMs, tracked.deadlineAtMs ?? 0);
  const joined = { ...known, ...trackedInstance(order, tracked.state), resources, allocations, deadlineAtMs };
  const isKnown = isDeepStrictEqual(joined, tracked);
  ledger.put(joined);
  builds.extendDeadline(order.instanceUuid, order.deadlineAtMs);
  const ending = builds.endOf(order.instanceUuid);
  if (ending) return { settled: joinBuild(host, order, ending, isKnown) };
  const isKept = isKnown || (await keepInstance(host, joined));
  return { settled: isKept ? settle(host, order, { kind: 'active' }) : Promise.resolve(REQUEUE) };
}

/** A build may have journalled its end under the former attempt just when it was joined. */
async function joinBuild(
  host: Host,
  order: BuildOrder,
  ending: Promise<BuildEnd>,
  isKnown: boolean,
): Promise<Settlement> {
  const { locks, ledger } = host;
  const end = await ending;
  if (end.kind !== 'active' || isKnown) return settle(host, order, end);
  const isKept = await locks.run(order.instanceUuid, async () => {
    const present = ledger.get(order.instanceUuid);
    return !present || present.state === 'destroying' || keepInstance(host, present);
  });
  return isKept ? settle(host, order, end) : REQUEUE;
}

async function settle(host: Host, order: BuildOrder, end: BuildEnd): Promise<Settlement> {
  switch (end.kind) {
    case 'active':
      return reportBuild(host, order, { outcome: 'active' });
    case 'failed':
      return reportConcluded(host, order, { outcome: 'failed', reason: end.error.reason, message: end.error.message });
    case 'destroyed':
      return reportBuild(host, order, DESTROYED);
    case 'handed_back':
      return REQUEUE;
  }
}

/** Nothing of the instance is left here. Journalled once the report is confirmed: an unreported build is done again. */
async function reportConcluded(host: Host, order: BuildOrder, result: ConcludedBuild): Promise<Settlement> {
  const { instanceUuid: uuid, attempt, claimToken, deadlineAtMs, orderedDeadlineAtMs } = order;
  // An older conductor's order has no claim: one of a later instance looks the same.
  if (claimToken === 0) return reportBuild(host, order, result);
  host.concluded.add(order, result, orderedDeadlineAtMs);
  const settlement = await reportBuild(host, order, result);
  const isPast = deadlineAtMs !== 0 && deadlineAtMs <= host.clock.elapsed();
  if (settlement.kind !== 'ack' || isPast) return settlement;
  const ended = { uuid, attempt, claimToken, result, deadlineAtMs: orderedDeadlineAtMs };
  await host.endedBuilds.keep(ended).catch((error: unknown) => {
    host.log.warn({ event: 'journal_failed', ...attemptFields(host, order), error }, 'ended build not journalled');
  });
  return settlement;
}
