import { callMethod } from '#libs/bus/typed-calls';
import { type Identity, requireService } from '#libs/contracts/identity';
import type { OperateInstanceRequest, OperateInstanceResponse } from '#libs/contracts/operations';
import { isForOperators, operateInstanceMethod } from '#libs/contracts/operations';
import { RPC_CONDUCTOR } from '#libs/contracts/queues';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BerthError } from '#libs/domain/errors';
import type { InstanceRow } from '#libs/domain/instance';
import { sentenceOf } from '#libs/domain/quotas/quota';
import type { RequestSpec } from '#libs/domain/request-spec';
import { requireFlavor } from '#libs/fleet-settings/serve-flavors';
import { busOfCell } from './cells/bus-of-cell';
import type { TopConductor } from './context';
import { startMove } from './moves/start-move';
import { isCounted, type Reserved, release, reserveForResize, reserveRunning } from './requests/reservations';
import { reserveAgain } from './requests/reserve-again';
import { ownRecord } from './requests/take-requests';

const OPERATE_TIMEOUT_MS = 10_000;

/**
 * Forwards an operation to the instance's cell, which treats it as an operator's: ownership and quota are checked here.
 *
 * @throws BerthError of the cell; `failed_precondition / quota_exceeded`, `/ group_is_uneven`, `/ no_such_zone`, `/
 *   group_elsewhere`, `/ instance_changed`, `/ instance_state` without a cell; `unavailable / cell_unreachable`;
 *   `not_found / no_such_flavor`.
 */
export async function operateInstance(
  t: TopConductor,
  request: OperateInstanceRequest,
  sender: Identity,
): Promise<OperateInstanceResponse> {
  if (isForOperators(request.operation)) requireService(sender, operateInstanceMethod.request.type);
  const record = await ownRecord(t, request.instanceUuid, sender);
  if (request.version !== 0 && request.version !== record.version) {
    const message = `instance ${record.uuid} is version ${record.version}, not ${request.version}: look at it again`;
    throw new BerthError('failed_precondition', 'instance_changed', message);
  }
  const { cell } = record;
  if (cell === undefined) throw new BerthError('failed_precondition', 'instance_state', 'it has no cell yet');
  if (cell.move)
    throw new BerthError('failed_precondition', 'instance_state', `it is on its way to cell ${cell.move.to}`);
  if (request.targetCell) return startMove(t, request, record);
  const bus = busOfCell(t, cell.name);
  const resizeTo = request.resizeTo && (await withFlavor(t, request.resizeTo));
  await reserveMore(t, { ...request, resizeTo }, record);
  try {
    const inCell = { ...request, resizeTo, version: cell.version };
    const options = { timeoutMs: OPERATE_TIMEOUT_MS, signal: t.stopping };
    const { instance } = await callMethod({ bus, queue: RPC_CONDUCTOR }, operateInstanceMethod, inCell, options);
    return { instance: { ...instance, version: record.version, cell: cell.name } };
  } catch (thrown) {
    // Without an answer the operation may have begun.
    if (BerthError.from(thrown).code !== 'deadline_exceeded') await reserveAsBefore(t, request, record);
    throw thrown;
  }
}

/** A resize's spec with its flavor filled in for the cell. @throws BerthError `not_found / no_such_flavor`. */
async function withFlavor(t: TopConductor, to: RequestSpec): Promise<RequestSpec> {
  if (to.flavor === undefined) return to;
  const { resources, extraSpecs } = await requireFlavor(t, to.flavor.name);
  return { ...to, flavor: undefined, resources, extraSpecs };
}

async function reserveMore(
  t: TopConductor,
  { operation, resizeTo }: Pick<OperateInstanceRequest, 'operation' | 'resizeTo'>,
  record: InstanceRow,
): Promise<void> {
  let reserved: Reserved = { kind: 'reserved' };
  if (operation === 'unshelve') reserved = await reserveAgain(t, record);
  else if (operation === 'resize' && resizeTo) {
    const { resources, extraSpecs } = resizeTo;
    const spec = { ...requestSpecCodec.decode(record.requestSpec), flavor: undefined, resources, extraSpecs };
    reserved = await reserveForResize(t, record, requestSpecCodec.encode(spec));
  }
  if (reserved.kind === 'quota')
    throw new BerthError('failed_precondition', 'quota_exceeded', sentenceOf(reserved.excess));
  if (reserved.kind === 'elsewhere') {
    const { name, zone } = record.cell ?? {};
    const message = `others of its group have come ${zone ? `to zone ${zone}` : `to another cell than ${name}`} meanwhile`;
    throw new BerthError('failed_precondition', zone ? 'group_is_uneven' : 'group_elsewhere', message);
  }
}

async function reserveAsBefore(
  t: TopConductor,
  { operation }: OperateInstanceRequest,
  record: InstanceRow,
): Promise<void> {
  if (operation !== 'unshelve' && operation !== 'resize') return;
  await (isCounted(record) ? reserveRunning(t, record) : release(t, [record]));
}
