import { type HostDiscrepancy, hostDiscrepancyCodec } from '#libs/contracts/compute';
import type { SettleDoubtRequest } from '#libs/contracts/doubts';
import type { RunningInstance } from '#libs/contracts/stats';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import type { Conductor } from '../conductor';
import { readRecord } from '../lifecycle';
import { type Observation, type ReconcileInput, UNREAD } from '../observation';
import { reconcile } from '../reconcile';
import { reconcileLoop } from '../reconcile-loop';
import { sealedFor } from '../steps/claims';

/**
 * An operator's word on an instance that runs where no record has it: it is adopted, as its host reported it, or destroyed
 * there.
 *
 * @throws BerthError `not_found / no_such_doubt` when no host reported it running and in
 *   doubt; `failed_precondition / has_record` when its record has it there, or, to be adopted, when it has one at all.
 */
export async function settleDoubt(c: Conductor, request: SettleDoubtRequest): Promise<void> {
  const { instanceUuid, host, action } = request;
  const doubts = (await c.instances.listDoubts()).filter(
    (one) => one.instanceUuid === instanceUuid && one.host === host,
  );
  const evidence = doubts.find((one) => one.evidence.length > 0)?.evidence;
  if (!evidence) {
    throw new BerthError('not_found', 'no_such_doubt', `no report of ${host} has instance ${instanceUuid} in doubt`);
  }
  const discrepancy = hostDiscrepancyCodec.decode(evidence);
  const instance = [...discrepancy.unclaimed, ...discrepancy.present][0];
  const record = await readRecord(c, instanceUuid);
  if (!instance) throw new BerthError('internal', 'bad_evidence', `the doubt about ${instanceUuid} has no instance`);
  const observed = action === 'adopt' ? vouchedFor(c, discrepancy, instance) : disowned(host, instance);
  const look: ReconcileInput = { uuid: instanceUuid, record, holds: UNREAD, observed };
  if (action === 'adopt' ? record !== undefined : isAtRest(c, look)) throw hasRecord(instanceUuid, record);
  c.log.warn({ event: 'doubt_settled', action, instance_uuid: instanceUuid, host }, 'an operator settled a doubt');
  await reconcileLoop(c, [look]);
  await Promise.all(doubts.map((doubt) => c.instances.settleDoubt(doubt)));
}

function isAtRest(c: Conductor, { record, holds, observed }: ReconcileInput): boolean {
  return reconcile(record, holds, observed, c.clock.now()).kind === 'none';
}

/** A scheduler's seal shown by the agent counts only if it is about this instance on this host. */
function vouchedFor(c: Conductor, { host, providerUuid, epoch, position }: HostDiscrepancy, said: RunningInstance) {
  const isProven = sealedFor(c, said.allocationRequest, said.instanceUuid, host) !== undefined;
  const instance = isProven ? said : { ...said, allocationRequest: new Uint8Array() };
  const { projectId, userId, resources } = said;
  const at = { epoch, position };
  const voucher = { projectId, userId, resources };
  return {
    kind: 'running',
    host,
    providerUuid,
    at,
    isClaimed: false,
    isByForgottenClaim: false,
    instance,
    voucher,
    wasStray: false,
  } satisfies Observation;
}

function disowned(host: string, { attempt, claimToken }: RunningInstance) {
  return { kind: 'disowned', host, attempt, claimToken } satisfies Observation;
}

function hasRecord(uuid: string, record: Instance | undefined): BerthError {
  const message = `instance ${uuid} has a record, ${record?.state} on ${record?.host ?? 'no host'}: terminate it instead`;
  return new BerthError('failed_precondition', 'has_record', message);
}
