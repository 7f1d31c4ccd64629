import type { IncomingMessage, Settlement } from '#libs/bus/port';
import { buildReportCodec } from '#libs/contracts/compute';
import type { BuildReport } from '#libs/contracts/messages';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { Conductor } from './context';
import { releaseOwn } from './hand-off';
import { settle } from './patience';
import { advance, announce, attemptNumber, concluded, failed, isBeingBuilt, present } from './records';
import { claimNextHost, tryNextHost } from './retry';
import { destroyed, destroyOn } from './terminate';

/** What an agent says of an attempt. Only the present attempt of an instance counts; what is late is undone, not counted. */
export async function onBuildReport(c: Conductor, message: IncomingMessage): Promise<Settlement> {
  return settle(c, message, async (isRepeated) => {
    const report = buildReportCodec.decode(message.body);
    const instance = await present(c, report.instanceUuid);
    if (report.outcome === 'destroyed') {
      if (instance?.state === 'deleting' && instance.host === report.host) await destroyed(c, instance);
      return;
    }
    if (!instance || !isPresent(instance, report)) return outdated(c, report);
    if (isBeingBuilt(instance)) return ofBuild(c, instance, report);
    if (instance.state === 'building') return isRepeated ? claimNextHost(c, instance) : outdated(c, report);
    if (instance.state === 'active' && report.outcome === 'lost')
      return lost(c, instance, report.message || report.reason);
    if (instance.state === 'active' && isRepeated) await announce(c, instance);
  });
}

async function ofBuild(c: Conductor, instance: Instance, report: BuildReport): Promise<void> {
  switch (report.outcome) {
    case 'active':
      return active(c, instance, report);
    case 'failed':
    case 'refused':
      return tryNextHost(c, instance, report.outcome, sentence(report));
    case 'lost':
      return tryNextHost(c, instance, 'failed', sentence(report));
    case 'destroyed':
      return;
  }
}

async function active(c: Conductor, instance: Instance, report: BuildReport): Promise<void> {
  const nowMs = c.clock.now();
  const attempts = concluded(instance, 'active', '', nowMs);
  const updated = await advance(c, instance, {
    state: 'active',
    attempts,
    alternates: new Uint8Array(),
    dueAtMs: undefined,
  });
  // Somebody wrote meanwhile (a terminate, a deadline): the report is looked at again beside what is there now.
  if (!updated) throw new BerthError('aborted', 'record_changed', `instance ${report.instanceUuid} changed meanwhile`);
  c.measured.attempts.inc({ outcome: 'active' });
  c.measured.activeAfter.observe((nowMs - instance.createdAtMs) / 1000);
}

/** An instance that ran and is gone: it keeps nothing, and nobody builds it again without being asked. */
export async function lost(c: Conductor, instance: Instance, why: string): Promise<void> {
  await releaseOwn(c, instance);
  await advance(
    c,
    instance,
    failed({ reason: 'instance_lost', message: `it stopped running on ${instance.host}: ${why}` }),
  );
}

/** A report of an attempt that is over. What it built must not stay: the host is told to end it. */
async function outdated(c: Conductor, report: BuildReport): Promise<void> {
  c.measured.stale.inc();
  c.log.info(
    { instance_uuid: report.instanceUuid, host: report.host, attempt: report.attempt, outcome: report.outcome },
    'late report',
  );
  if (report.outcome === 'active') await destroyOn(c, report.host, report.instanceUuid, report.attempt, false);
}

function isPresent(instance: Instance, report: BuildReport): boolean {
  const isAlive = instance.state === 'building' || instance.state === 'active';
  return isAlive && instance.host === report.host && attemptNumber(instance) === report.attempt;
}

function sentence({ reason, message }: BuildReport): string {
  return message === '' ? reason : `${reason}: ${message}`;
}
