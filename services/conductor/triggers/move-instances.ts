import type { MoveInstancesRequest, MoveInstancesResponse } from '#libs/contracts/moves';
import { claimMovesMethod } from '#libs/contracts/moves';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Destination } from '#libs/contracts/selection';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import { type Instance, nameOfState } from '#libs/domain/instance';
import { type MigrationKind, migrationUuidOf } from '#libs/domain/moves/migration';
import { sentenceOf } from '#libs/domain/quotas/quota';
import type { Conductor } from '../conductor';
import { requireCertain } from '../losses/require-certain';
import { lookAt, type WantedMove } from '../observation';
import { reconcile } from '../reconcile';
import { reconcileLoop } from '../reconcile-loop';
import { callScheduler } from '../steps/call-scheduler';
import { claimedHostOf, migrated } from '../steps/select-destinations';
import { moveNotFinished, wantedMove } from './wanted-move';

/**
 * An operator wants several instances migrated: a scheduler claims a destination for each, all in one commit or none, or says where they
 * would go. What is claimed waits for its turn, which `OperateInstance` gives it; what is not begun in time is given back. Of a live
 * migration, what is stopped is migrated cold. The name of a plan is on record with each.
 *
 * A copy of a call, whose answer was lost, is answered with what waits for its turn: that is all that it wants.
 *
 * The claims are made before they are on record, because only then they are all made or none. Whoever dies in between leaves
 * instances whose claims are elsewhere, and migrations that no record knows: the audit gives both back. Until it has, asking again
 * is refused (`claim_changed`).
 *
 * @throws BerthError `not_found / no_such_instance`, `/ no_such_host`; `failed_precondition /
 *   instance_state` of one that can not be moved now, `/ same_host`, `/ claim_changed`; `invalid_argument / duplicate_uuid`; `aborted /
 *   claim_conflicts`; `aborted / instance_changed` when some of what was claimed has changed meanwhile: its claims are given back.
 */
export async function moveInstances(c: Conductor, request: MoveInstancesRequest): Promise<MoveInstancesResponse> {
  const { operation, moves, leaveHosts, dryRun, plan } = request;
  const records = await recordsOf(c, moves);
  await requireCertain(c, records);
  if (!dryRun && records.every((record) => isClaimedAsAsked(record, request))) return claimedMoves(records);
  const asked = await Promise.all(records.map(withMove));
  const { destinations, noValidHost, refusedInstanceUuid } = await callScheduler(c, claimMovesMethod, {
    moves: asked.map(({ record, wanted }) => toClaim(record, wanted, leaveHosts)),
    dryRun,
  });
  if (noValidHost) {
    const { summary, quotaExceeded } = noValidHost;
    const refusal = quotaExceeded.length === 0 ? summary : sentenceOf(quotaExceeded);
    return { moves: [], refusedInstanceUuid, refusal };
  }
  const destinationOf = new Map(destinations.map((one) => [one.instanceUuid, one]));
  const planned = asked.map((one) => ({ ...one, destination: destinationOf.get(one.record.uuid) as Destination }));
  if (!dryRun) await recordClaimed(c, planned);
  return {
    moves: planned.map(({ record: { uuid: instanceUuid, host: sourceHost = '' }, destination: { selected } }) => {
      return { instanceUuid, sourceHost, destHost: selected.host };
    }),
    refusedInstanceUuid: '',
    refusal: '',
  };

  async function withMove(record: Instance): Promise<AskedMove> {
    const { targetHost = '' } = moves.find(({ instanceUuid }) => instanceUuid === record.uuid) ?? {};
    const kind = wayOf(operation, record.state);
    const wanted = { ...(await wantedMove(c, kind, { targetHost }, record)), plan };
    const isMovable = reconcile(record, { kind: 'unread' }, { kind: 'move_requested', wanted }, c.clock.now());
    if (isMovable.kind !== 'record_move') throw moveNotFinished(record, kind) ?? notMovable(record);
    return { record, wanted };
  }
}

/** True when what the call wants of an instance is on record: it is claimed for it, and waits for its turn. */
function isClaimedAsAsked(
  { uuid, migration, formerState }: Instance,
  { operation, moves, leaveHosts, plan }: MoveInstancesRequest,
): boolean {
  if (migration?.phase !== 'claimed') return false;
  const { kind, targetHost, destination } = migration;
  const asked = moves.find(({ instanceUuid }) => instanceUuid === uuid);
  const isWay = kind === wayOf(operation, formerState) && targetHost === (asked?.targetHost ?? '');
  return isWay && migration.plan === plan && !leaveHosts.includes(destination.host);
}

/** A stopped instance can't be moved live. */
function wayOf(operation: MoveInstancesRequest['operation'], state: Instance['formerState']): MigrationKind {
  return state === 'stopped' ? 'migrate' : operation;
}

function claimedMoves(records: readonly Instance[]): MoveInstancesResponse {
  const moves = records.map(({ uuid, migration }) => ({
    instanceUuid: uuid,
    sourceHost: migration?.source.host ?? '',
    destHost: migration?.destination.host ?? '',
  }));
  return { moves, refusedInstanceUuid: '', refusal: '' };
}

interface AskedMove {
  readonly record: Instance;
  readonly wanted: WantedMove;
}

async function recordsOf(c: Conductor, moves: MoveInstancesRequest['moves']): Promise<Instance[]> {
  const uuids = [...new Set(moves.map(({ instanceUuid }) => instanceUuid))];
  if (uuids.length < moves.length) throw invalidArgument('duplicate_uuid', 'moves name an instance twice', 'moves');
  const byUuid = new Map((await c.instances.get(uuids)).map((record) => [record.uuid, record]));
  return uuids.map((uuid) => {
    const record = byUuid.get(uuid);
    if (record) return record;
    throw new BerthError('not_found', 'no_such_instance', `there is no instance ${uuid}`);
  });
}

function toClaim({ uuid, host = '', claimToken = 0 }: Instance, wanted: WantedMove, leaveHosts: readonly string[]) {
  const { requestSpec, targetHost } = wanted;
  return {
    instanceUuid: uuid,
    requestSpec: migrated(requestSpecCodec.decode(requestSpec), targetHost, [...leaveHosts, host]),
    move: { migrationUuid: migrationUuidOf(uuid), claimToken, sourceHost: host },
  };
}

async function recordClaimed(c: Conductor, planned: readonly (AskedMove & { readonly destination: Destination })[]) {
  const looks = planned.map(({ record, wanted, destination }) =>
    lookAt(record, { kind: 'move_claimed', wanted, target: claimedHostOf(destination) }),
  );
  const overtaken = await reconcileLoop(c, looks);
  const [first] = overtaken;
  if (first === undefined) return;
  const message = `instance ${first.uuid} has changed meanwhile: it is ${first.record ? nameOfState(first.record.state) : 'gone'}; what is claimed for it is given back`;
  throw new BerthError('aborted', 'instance_changed', message, { details: { instance_uuid: first.uuid } });
}

function notMovable({ uuid, state, host = '' }: Instance): BerthError {
  const message = `instance ${uuid} on ${host} is ${nameOfState(state)}: it cannot be moved now`;
  return new BerthError('failed_precondition', 'instance_state', message, { details: { instance_uuid: uuid } });
}
