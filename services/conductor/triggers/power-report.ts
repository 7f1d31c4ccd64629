import type { IncomingMessage } from '#libs/bus/port';
import { powerReportCodec } from '#libs/contracts/power';
import { requireReporter } from '#libs/placement/holders';
import type { Conductor } from '../conductor';
import { readRecord } from '../lifecycle';
import { UNREAD } from '../observation';
import { reconcileLoop } from '../reconcile-loop';

/** An agent reports how an instance is after it was ordered to stop or to start it. */
export async function onPowerReport(c: Conductor, { body, identity }: IncomingMessage): Promise<void> {
  const report = powerReportCodec.decode(body);
  const { instanceUuid: uuid, host, attempt, powerState, reason, message, epoch, position } = report;
  await requireReporter(identity, host, c.placement);
  const record = await readRecord(c, uuid);
  const fault = reason === '' ? undefined : { reason, message };
  const at = { epoch, position };
  const restsOn = { epoch: report.restsOnEpoch, position: report.restsOnPosition };
  const move = { migrationUuid: report.migrationUuid ?? '', handover: report.handover ?? new Uint8Array() };
  const observed = { kind: 'power_reported', host, attempt, powerState, fault, at, restsOn, ...move } as const;
  await reconcileLoop(c, [{ uuid, record, holds: UNREAD, observed }]);
}
