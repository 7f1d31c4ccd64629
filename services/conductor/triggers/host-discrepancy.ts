import type { IncomingMessage } from '#libs/bus/port';
import { hostDiscrepancyCodec } from '#libs/contracts/compute';
import { requireService } from '#libs/contracts/identity';
import { isAttemptOpen } from '#libs/domain/instance';
import type { Conductor } from '../context';
import { lookAt, UNREAD } from '../observation';
import { reconcileLoop } from '../reconcile-loop';
import { hasOrdersWaiting } from '../steps/orders';

/**
 * A host's report and the store do not agree on which instances it runs: each of them is looked at. The agent is the
 * authority on what runs, the record on what should.
 */
export async function onHostDiscrepancy(c: Conductor, { body, type, identity }: IncomingMessage): Promise<void> {
  requireService(identity, type);
  const discrepancy = hostDiscrepancyCodec.decode(body);
  const { host, providerUuid, serviceHost } = discrepancy;
  // What is being built or destroyed there is reported by itself.
  const running = discrepancy.unclaimed.filter((instance) => instance.running);
  const records = await c.instances.get([...running.map(({ instanceUuid }) => instanceUuid), ...discrepancy.missing]);
  const byUuid = new Map(records.map((record) => [record.uuid, record]));
  const missing = discrepancy.missing.map((uuid) => byUuid.get(uuid)).filter((record) => record !== undefined);
  const isWaiting = missing.some(isAttemptOpen) && (await hasOrdersWaiting(c, serviceHost));
  await reconcileLoop(c, [
    ...running.map((instance) => {
      const uuid = instance.instanceUuid;
      const observed = { kind: 'running', host, providerUuid, instance } as const;
      return { uuid, record: byUuid.get(uuid), holds: UNREAD, observed };
    }),
    ...missing.map((record) => lookAt(record, { kind: 'missing', host, hasOrdersWaiting: isWaiting })),
  ]);
}
