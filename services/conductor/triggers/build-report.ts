import type { IncomingMessage } from '#libs/bus/port';
import { buildReportCodec, EARLIER_EPOCH } from '#libs/contracts/compute';
import { requireReporter } from '#libs/placement/holders';
import type { Conductor } from '../conductor';
import { readRecord } from '../lifecycle';
import { UNREAD } from '../observation';
import { reconcileLoop } from '../reconcile-loop';

/** An agent reports how an attempt, or an instance, ended. */
export async function onBuildReport(
  c: Conductor,
  { body, identity }: IncomingMessage,
  isRepeated: boolean,
): Promise<void> {
  const report = buildReportCodec.decode(body);
  const {
    instanceUuid: uuid,
    host,
    attempt,
    claimToken,
    outcome,
    reason,
    message,
    epoch,
    position,
    keptClaimToken = 0,
  } = report;
  await requireReporter(identity, host, c.placement);
  const record = await readRecord(c, uuid);
  const why = message === '' ? reason : `${reason}: ${message}`;
  const at = { epoch, position };
  const isOutdated = outcome === 'refused' && reason === EARLIER_EPOCH;
  const what = { outcome, keptClaimToken, why, isRepeated, isOutdated } as const;
  const observed = { kind: 'reported', host, attempt, claimToken, at, ...what } as const;
  await reconcileLoop(c, [{ uuid, record, holds: UNREAD, observed }]);
}
