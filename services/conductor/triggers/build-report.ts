import type { IncomingMessage } from '#libs/bus/port';
import { buildReportCodec } from '#libs/contracts/compute';
import { requireHost } from '#libs/contracts/identity';
import type { Conductor } from '../context';
import { readRecord } from '../lifecycle';
import { UNREAD } from '../observation';
import { reconcileLoop } from '../reconcile-loop';

/** An agent reports how an attempt, or an instance, ended. */
export async function onBuildReport(
  c: Conductor,
  { body, identity }: IncomingMessage,
  isRepeated: boolean,
): Promise<void> {
  const { instanceUuid: uuid, host, attempt, outcome, reason, message } = buildReportCodec.decode(body);
  requireHost(identity, host);
  const record = await readRecord(c, uuid);
  const why = message === '' ? reason : `${reason}: ${message}`;
  const observed = { kind: 'reported', host, attempt, outcome, why, isRepeated } as const;
  await reconcileLoop(c, [{ uuid, record, holds: UNREAD, observed }]);
}
