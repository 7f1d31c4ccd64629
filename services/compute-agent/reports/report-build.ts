import { ACK, REQUEUE, type Settlement } from '#libs/bus/port';
import { castTyped } from '#libs/bus/typed-calls';
import { type BuildReport, buildReportCodec } from '#libs/contracts/compute';
import { agentSender, BUILD_RESULTS } from '#libs/contracts/queues';
import { type Host, retryUntilDrainEnd } from '../host/host';

/** The attempt of a report, and its remaining alternates. A BuildOrder is one. */
export type ReportedAttempt = Pick<BuildReport, 'instanceUuid' | 'attempt' | 'claimToken' | 'alternates'>;

/** The outcome of an attempt. */
export type BuildResult = Pick<BuildReport, 'outcome' | 'keptClaimToken'> & {
  readonly reason?: string;
  readonly message?: string;
};

export const DESTROYED: BuildResult = {
  outcome: 'destroyed',
  reason: 'destroyed',
  message: 'the instance was destroyed as ordered',
};

/**
 * Reports an attempt's outcome to the conductors, and retries until the broker has the report. Settles the order: acked
 * when it is reported, requeued when draining ended before, or another run holds the host.
 */
export async function reportBuild(host: Host, about: ReportedAttempt, result: BuildResult): Promise<Settlement> {
  const { bus, facts, log } = host;
  if (host.isOver?.()) return REQUEUE;
  const { instanceUuid, attempt, claimToken } = about;
  // Later statements about the host get later positions, however often this is retried.
  const identity = { instanceUuid, host: facts.name, attempt, claimToken, ...host.lease.nextPosition() };
  // A successful report carries no alternates.
  const alternates = result.outcome === 'active' ? [] : about.alternates;
  const report: BuildReport = { ...identity, alternates, reason: '', message: '', ...result };
  const sender = agentSender(facts.name);
  const isReported = await retryUntilDrainEnd(
    host,
    () => castTyped({ bus, queue: BUILD_RESULTS }, buildReportCodec, report, { sender }),
    (error) =>
      log.warn({ event: 'build_report_failed', ...attemptFields(host, about), error }, 'build not reported, retrying'),
  );
  return isReported ? ACK : REQUEUE;
}

/** Log fields that identify an attempt. */
export function attemptFields(
  { facts }: Host,
  about: Pick<ReportedAttempt, 'instanceUuid' | 'attempt'> & { readonly requestId?: string },
) {
  const { instanceUuid: instance_uuid, requestId: request_id, attempt } = about;
  return { host: facts.name, instance_uuid, request_id, attempt };
}
