import type { IncomingMessage, Settlement } from '#libs/bus/port';
import { buildReportCodec } from '#libs/contracts/compute';
import type { Conductor } from '../context';
import { readRecord } from '../lifecycle';
import { UNREAD } from '../observation';
import { reconcileLoop } from '../reconcile-loop';
import { settleMessage } from './settle-message';

/** An agent reports how an attempt, or an instance, ended. */
export async function onBuildReport(c: Conductor, message: IncomingMessage): Promise<Settlement> {
  return settleMessage(c, message, async (isRepeated) => {
    const report = buildReportCodec.decode(message.body);
    const { instanceUuid: uuid, host, attempt, claimToken, outcome, reason, message: text, epoch, position } = report;
    const record = await readRecord(c, uuid);
    const why = text === '' ? reason : `${reason}: ${text}`;
    const at = { epoch, position };
    const observed = { kind: 'reported', host, attempt, claimToken, at, outcome, why, isRepeated } as const;
    await reconcileLoop(c, [{ uuid, record, holds: UNREAD, observed }]);
  });
}
