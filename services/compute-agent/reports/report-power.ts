import { ACK, REQUEUE, type Settlement } from '#libs/bus/port';
import { castTyped } from '#libs/bus/typed-calls';
import type { PowerReport, SetPowerState } from '#libs/contracts/power';
import { powerReportCodec } from '#libs/contracts/power';
import { agentSender, BUILD_RESULTS } from '#libs/contracts/queues';
import type { BerthError } from '#libs/domain/errors';
import { type Host, retryUntilDrainEnd } from '../host/host';
import { powerStateOf } from '../host/judge-power-state';
import type { TrackedInstance } from '../host/tracked-instance';
import { attemptFields } from './report-build';

export interface PowerOutcome {
  /** The error of a failed start, or of a failed handover. */
  readonly failure?: BerthError | undefined;
  /** For an instance stopped to be moved. */
  readonly handover?: Uint8Array;
}

/**
 * Reports an instance's state to the conductors, after an order to stop or start it, and retries until the broker has
 * the report. Settles the order like `reportBuild`.
 */
export async function reportPower(
  host: Host,
  { restsOnEpoch, restsOnPosition, migrationUuid }: SetPowerState,
  tracked: TrackedInstance,
  { failure, handover }: PowerOutcome = {},
): Promise<Settlement> {
  const { bus, facts, log, lease } = host;
  if (host.isOver?.()) return REQUEUE;
  const { uuid: instanceUuid, attempt, claimToken } = tracked;
  const report: PowerReport = {
    instanceUuid,
    host: facts.name,
    attempt,
    claimToken,
    powerState: powerStateOf(tracked),
    reason: failure?.reason ?? '',
    message: failure?.message ?? '',
    restsOnEpoch,
    restsOnPosition,
    migrationUuid,
    handover,
    ...lease.nextPosition(),
  };
  const sender = agentSender(facts.name);
  const isReported = await retryUntilDrainEnd(
    host,
    () => castTyped({ bus, queue: BUILD_RESULTS }, powerReportCodec, report, { sender }),
    (error) =>
      log.warn(
        { event: 'power_report_failed', ...attemptFields(host, { instanceUuid, attempt }), error },
        'power state not reported, retrying',
      ),
  );
  return isReported ? ACK : REQUEUE;
}
