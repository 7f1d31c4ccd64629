import type { IncomingMessage, Settlement } from '#libs/bus/port';
import { buildReportCodec } from '#libs/contracts/compute';
import { requireHost } from '#libs/contracts/identity';
import type { Conductor } from '../context';
import { readRecord } from '../lifecycle';
import { UNREAD } from '../observation';
import { reconcileLoop } from '../reconcile-loop';
import { settleMessage } from './settle-message';

/** An agent reports how an attempt, or an instance, ended. */
export async function onBuildReport(c: Conductor, message: IncomingMessage): Promise<Settlement> {
  return settleMessage(c, message, async (isRepeated) => {
    const report = buildReportCodec.decode(message.body);
    requireHost(message.identity, report.host);
    const { instanceUuid: uuid, host, attempt, outcome, reason, message: text } = report;
    const record = await readRecord(c, uuid);
    const why = text === '' ? reason : `${reason}: ${text}`;
    const observed = { kind: 'reported', host, attempt, outcome, why, isRepeated } as const;
    await reconcileLoop(c, [{ uuid, record, holds: UNREAD, observed }]);
  });
}
