import { createHash } from 'node:crypto';
import { type Identity, requireService } from '#libs/contracts/identity';
import { instanceView } from '#libs/contracts/instance-view';
import type { InstanceOperation, OperateInstanceRequest, OperateInstanceResponse } from '#libs/contracts/operations';
import { isForOperators, operateInstanceMethod } from '#libs/contracts/operations';
import { requireOwnInstance } from '#libs/contracts/own-instances';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import { type Instance, type InstanceState, isBuiltElsewhere, nameOfState } from '#libs/domain/instance';
import { textOf } from '#libs/domain/moves/migration';
import type { Conductor } from '../conductor';
import { readRecord } from '../lifecycle';
import { shownTo } from '../lists/list-instances';
import { requireCertain } from '../losses/require-certain';
import { evacuationOf, lookAt, type Observation } from '../observation';
import { reconcile } from '../reconcile';
import { isDoneWhileUncertain } from '../reconcile/while-uncertain';
import { reconcileLoop } from '../reconcile-loop';
import { declareDead } from '../steps/fence-host';
import { matesOf } from '../steps/moves/affinity-mates';
import { readEnds } from '../steps/moves/moves';
import { withinBudget } from '../steps/within-budget';
import { moveNotFinished, wantedMove } from './wanted-move';

/**
 * A client wants an instance stopped, started or resized, or an operator one moved, or built elsewhere whose host is dead.
 * Answered when the wish is on record; a wish that is on record already, or has been done, is answered the same.
 *
 * The version that the client has seen tells a copy of the call that comes late from a new one: else a stop that was held up
 * would stop again what has been started since. (A precondition on the version, as Kubernetes' `resourceVersion`.) A copy of the last call
 * on record is answered with what came of it: its client may have lost the answer, and must not be told that it was refused.
 *
 * @throws BerthError `not_found / no_such_instance`; `permission_denied / wrong_project`, `/ services_only`;
 *   `unavailable / store_lost_writes` until all hosts were heard; `failed_precondition / host_down` as `throughMove`; `failed_precondition / host_alive` when what is to be evacuated has a host that is not dead; `failed_precondition /
 *   instance_changed` when the record is another version; `failed_precondition / instance_state` when it is in no state for it,
 *   `/ move_not_finished` while a confirmed move is being finished;
 *   `resource_exhausted / disruption_budget`; `not_found / no_such_host`, `no_such_flavor`; `invalid_argument` as `wantedMove`.
 */
export async function operateInstance(
  c: Conductor,
  request: OperateInstanceRequest,
  sender: Identity,
): Promise<OperateInstanceResponse> {
  const { instanceUuid, operation, version } = request;
  if (isForOperators(operation)) requireService(sender, operateInstanceMethod.request.type);
  if (request.targetCell) {
    throw invalidArgument('not_for_this', 'a cell knows of no others: send target_cell to the top', 'target_cell');
  }
  const record = await ownRecord(c, instanceUuid, sender);
  const callId = callIdOf(request);
  const isOnRecord = async (one: Instance) =>
    (callId !== '' && one.lastCall === callId) || (isDone(one, operation) && (await isSameMove(c, one, request)));
  if (await isOnRecord(record)) return goOn(c, record, sender);
  if (version !== 0 && version !== record.version) throw changed(record, version);
  const observed = await throughMove(c, record, operation, await wishOf(c, request, record));
  const step = reconcile(record, { kind: 'unread' }, observed, c.clock.now());
  if (step.kind === 'none') throw wrongState(record, operation);
  if (operation === 'evacuate' && record.host !== undefined) await declareDead(c, record.host);
  if (!isDoneWhileUncertain(step, observed)) await requireCertain(c, [record], { observed, step });
  // An affinity group leaves a dead host as one.
  const mates = observed.kind === 'evacuate_requested' ? await matesOf(c, record) : [];
  const begin = () =>
    reconcileLoop(c, [lookAt(record, observed, callId), ...mates.map((mate) => lookAt(mate, evacuationOf(mate)))]);
  // A cold migration interrupts; owners resize as they like.
  const withoutStep = await (operation === 'migrate' ? withinBudget(c, [record], begin) : begin());
  const after = await ownRecord(c, instanceUuid, sender);
  // Somebody else's write came between, after which there was nothing to do: the wish is not on record.
  const overtaken = withoutStep.find((look) => look.observed === observed)?.record;
  if (overtaken && !(await isOnRecord(overtaken))) throw changed(after, record.version);
  return answerOf(c, after, sender);
}

/**
 * Recognises a call when its client, whose answer was lost, sends it again: by all that it says, with the version that the client
 * has seen. A call that names no version is never a copy: the same may be wanted again.
 */
function callIdOf(request: OperateInstanceRequest): string {
  if (request.version === 0) return '';
  const bytes = operateInstanceMethod.request.encode(request);
  return createHash('sha256').update(bytes).digest('base64url').slice(0, CALL_ID_LENGTH);
}

const CALL_ID_LENGTH = 22;

/**
 * Goes on with a wish on record that has no host yet: the call before may have failed because no scheduler answered. A host is not ordered
 * again, so that repeated calls fill no queue of an agent.
 */
async function goOn(c: Conductor, record: Instance, sender: Identity): Promise<OperateInstanceResponse> {
  const look = lookAt(record, { kind: 'interrupted' });
  const step = reconcile(record, look.holds, look.observed, c.clock.now());
  if (step.kind !== 'select_destinations') return answerOf(c, record, sender);
  await reconcileLoop(c, [look]);
  return answerOf(c, await ownRecord(c, record.uuid, sender), sender);
}

async function answerOf(c: Conductor, record: Instance, sender: Identity): Promise<OperateInstanceResponse> {
  const [instance = instanceView(record)] = await shownTo(c, sender, [instanceView(record)]);
  return { instance };
}

/** The states in which an operation has been asked for or done already. */
const DONE_IN: Readonly<Record<InstanceOperation, readonly InstanceState[]>> = {
  stop: ['stopping', 'stopped'],
  start: ['starting', 'active'],
  evacuate: [],
  shelve: ['shelving', 'shelved_offloaded'],
  unshelve: ['unshelving', 'building', 'active'],
  resize: ['resize'],
  migrate: ['resize'],
  live_migrate: ['migrating'],
  confirm: [],
  revert: ['revert_resize'],
};

/** A move is done by its kind, too; a confirmed one is ACTIVE until its end. */
function isDone(record: Instance, operation: InstanceOperation): boolean {
  const { state, migration } = record;
  switch (operation) {
    case 'resize':
    case 'migrate':
    case 'live_migrate':
      // A move that waits for its turn is asked for again.
      return DONE_IN[operation].includes(state) && migration?.kind === operation && migration.phase !== 'claimed';
    case 'confirm':
      return migration?.phase === 'confirming';
    case 'evacuate':
      // It goes back, off its host.
      return isBuiltElsewhere(record) || migration?.phase === 'leaving';
    default:
      return DONE_IN[operation].includes(state);
  }
}

/** True for a move to what the move on record leads to: another size, or another host, is another wish. */
async function isSameMove(c: Conductor, record: Instance, request: OperateInstanceRequest): Promise<boolean> {
  const { operation, targetHost = '' } = request;
  const { migration } = record;
  switch (operation) {
    case 'resize': {
      const { requestSpec } = await wantedMove(c, operation, request, record);
      return migration?.destination.requestSpec === textOf(requestSpec);
    }
    case 'migrate':
    case 'live_migrate':
      return targetHost === '' || targetHost === migration?.targetHost || targetHost === migration?.destination.host;
    default:
      return true;
  }
}

async function wishOf(c: Conductor, request: OperateInstanceRequest, record: Instance): Promise<Observation> {
  switch (request.operation) {
    case 'stop':
      return { kind: 'power_requested', powerState: 'shutdown' };
    case 'start':
      return { kind: 'power_requested', powerState: 'running' };
    case 'evacuate':
      return evacuationOf(record);
    case 'shelve':
      return { kind: 'shelve_requested' };
    case 'unshelve':
      return { kind: 'unshelve_requested' };
    case 'resize':
    case 'migrate':
    case 'live_migrate':
      return { kind: 'move_requested', wanted: await wantedMove(c, request.operation, request, record) };
    case 'confirm':
      return { kind: 'confirm_requested' };
    case 'revert':
      return { kind: 'revert_requested' };
  }
}

/**
 * A move with a host that is down: the copy that lives is kept. What is to be evacuated from its destination goes back to a source that is
 * there; else it is built anew.
 *
 * @throws BerthError `failed_precondition / host_down` for what would destroy the copy that lives.
 */
async function throughMove(
  c: Conductor,
  record: Instance,
  operation: InstanceOperation,
  wish: Observation,
): Promise<Observation> {
  const { uuid, migration } = record;
  if (migration?.phase !== 'arriving' && migration?.phase !== 'arrived') return wish;
  const [source, destination] = [migration.source.host, migration.destination.host];
  if (source === destination) return wish;
  const { isSourceDown, isDestinationDown } = await readEnds(c, migration);
  const refuse = (host: string, kept: string, hint: string) => {
    const message = `instance ${uuid}: host ${host} is down, and what ${kept} has is all there is; ${hint}`;
    return new BerthError('failed_precondition', 'host_down', message, { details: { host } });
  };
  if (operation === 'confirm' && isDestinationDown)
    throw refuse(destination, source, isSourceDown ? 'evacuate it' : 'revert it, or evacuate it: both take it back');
  if (operation === 'revert' && isSourceDown && !isDestinationDown)
    throw refuse(source, destination, `confirm it, or revert it once ${source} is back`);
  if (operation === 'evacuate' && !isSourceDown) return { kind: 'revert_requested' };
  return wish;
}

async function ownRecord(c: Conductor, uuid: string, sender: Identity): Promise<Instance> {
  return requireOwnInstance(await readRecord(c, uuid), uuid, sender);
}

function changed({ uuid, state, version }: Instance, seen: number): BerthError {
  const message = `instance ${uuid} is ${nameOfState(state)}, version ${version}, not ${seen} as it was seen; look at it again`;
  return new BerthError('failed_precondition', 'instance_changed', message);
}

function wrongState(record: Instance, operation: InstanceOperation): BerthError {
  const { uuid, state } = record;
  const notFinished = operation === 'revert' ? undefined : moveNotFinished(record, operation);
  if (notFinished) return notFinished;
  const message = `instance ${uuid} is ${nameOfState(state)}: it cannot ${operation}${hintOf(record, operation)}`;
  return new BerthError('failed_precondition', 'instance_state', message);
}

function hintOf({ state, migration }: Instance, operation: InstanceOperation): string {
  if (operation === 'revert' && migration?.phase === 'confirming') return '; its move is confirmed';
  return state === 'stopped' && operation === 'live_migrate' ? '; migrate it, and it stays stopped' : '';
}
