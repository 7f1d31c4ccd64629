import { noSuchInstance } from '#libs/client/client';
import { stateOfName } from '#libs/client/nova-states';
import type { InstanceView } from '#libs/contracts/instance';
import { checkCountOfAll } from '#libs/contracts/member-kinds';
import { type InstanceOperation, isForOperators } from '#libs/contracts/operations';
import { BerthError } from '#libs/domain/errors';
import type { Answer } from '../http/request';
import type { BuildCall } from './build-call';
import { projectOf, projectToBuildFor } from './caller';
import { namesOf } from './idempotency';
import { admissionOf, type BuildBody, camelKeys, furtherMembersOf, specOf } from './spec';
import { instanceJson } from './views';

/**
 * POST /berth/instances: answered when a conductor has the instances on record, or else when the broker has the request
 * on its disk.
 */
export async function buildInstances(call: BuildCall): Promise<Answer> {
  const { caller, config, idempotencyKey } = call;
  const client = await call.client();
  const body = call.body as BuildBody;
  const { name, count = 1, min_count: minCount, on_loss: onLoss, within } = body;
  const projectId = projectToBuildFor(caller, body.project_id);
  const furtherMembers = furtherMembersOf(body, projectId, caller.userId);
  const countOfAll = furtherMembers.reduce((sum, kind) => sum + (kind.count ?? 1), count);
  checkCountOfAll(countOfAll);
  const possible =
    idempotencyKey === undefined
      ? []
      : call.nameKeys.map((nameKey) => namesOf(nameKey, { projectId, key: idempotencyKey, body, count: countOfAll }));
  for (const names of possible) {
    const known = await client.instances({ requestId: names.requestId, projectId }, countOfAll + 1);
    if (known.length > 0) return acceptedAgain(names, known);
  }
  const options = { spec: specOf(body, projectId, caller.userId), count, furtherMembers, within, ...possible[0] };
  const { build, isOnRecord } = await client.buildOnRecord(
    {
      ...options,
      ...(name === undefined ? {} : { name }),
      ...(minCount === undefined ? {} : { minCount }),
      admission: admissionOf(body),
      onLoss,
    },
    { timeoutMs: config.acceptTimeoutMs },
  );
  return accepted(build, isOnRecord);
}

/** A copy builds nothing. @throws BerthError `already_exists / idempotency_key_reused`. */
function acceptedAgain(names: ReturnType<typeof namesOf>, known: readonly InstanceView[]): Answer {
  const own = new Set(names.instanceUuids);
  if (known.every(({ uuid }) => own.has(uuid))) return accepted(names, true);
  const message = 'another request was sent under this Idempotency-Key: choose another key';
  throw new BerthError('already_exists', 'idempotency_key_reused', message);
}

function accepted({ requestId, instanceUuids }: ReturnType<typeof namesOf>, isOnRecord: boolean): Answer {
  const instances = instanceUuids.map((uuid) => ({ uuid, href: `/berth/instances/${uuid}` }));
  return {
    status: 202,
    body: { request_id: requestId, is_on_record: isOnRecord, instances },
    location: `/berth/instances?request_id=${requestId}`,
  };
}

const DEFAULT_PAGE = 100;

/** GET /berth/instances: a page, by uuid. */
export async function listInstances({ caller, client, query }: BuildCall): Promise<Answer> {
  const state = query.last('state');
  const limit = Number(query.last('limit') ?? DEFAULT_PAGE);
  const asked = {
    projectId: projectOf(caller, query.last('project_id')) ?? '',
    requestId: query.last('request_id') ?? '',
    host: query.last('host') ?? '',
    marker: query.last('marker') ?? '',
    state: state === undefined ? undefined : stateOfName(state),
  };
  const instances = (await (await client()).instances(asked, limit)).map(instanceJson);
  return {
    status: 200,
    body: { instances, next_marker: instances.length < limit ? null : (instances.at(-1)?.uuid ?? null) },
  };
}

const MAX_WAIT_MS = 60_000;

/** GET /berth/instances/{uuid}: as it is, or, with `wait_for`, once it is in one of these states or the time is over. */
export async function showInstance(call: BuildCall): Promise<Answer> {
  const { params, query } = call;
  const found = await ownInstance(call);
  const client = await call.client();
  const waitFor = query.last('wait_for');
  if (waitFor === undefined) return { status: 200, body: instanceJson(found) };
  const states = waitFor.split(',').map(stateOfName);
  const timeoutMs = Number(query.last('timeout_ms') ?? MAX_WAIT_MS);
  await client.wait(params.uuid, states, { timeoutMs: Math.min(timeoutMs, MAX_WAIT_MS) }).catch((thrown: unknown) => {
    if (BerthError.from(thrown).reason !== 'not_settled') throw thrown;
  });
  return { status: 200, body: instanceJson(await client.instance(params.uuid)) };
}

/** DELETE /berth/instances/{uuid} */
export async function terminateInstance(call: BuildCall): Promise<Answer> {
  const { uuid } = await ownInstance(call);
  await (await call.client()).terminate(uuid);
  return { status: 202 };
}

interface ActionBody {
  readonly action: InstanceOperation;
  readonly resize_to?: { readonly flavor?: string };
  readonly target_host?: string;
  readonly target_cell?: string;
  readonly confirm_after_ms?: number;
}

/** POST /berth/instances/{uuid}/actions: stops, starts, shelves, unshelves, resizes, confirms, reverts; for operators, moves. */
export async function operateInstance(call: BuildCall): Promise<Answer> {
  const { action, resize_to: size, ...rest } = call.body as ActionBody;
  const namesPlace = rest.target_host !== undefined || rest.target_cell !== undefined;
  if ((isForOperators(action) || namesPlace) && !call.caller.isOperator) {
    const message = `${action}${namesPlace ? ' to a host or cell' : ''} is for the roles admin and service`;
    throw new BerthError('permission_denied', 'operators_only', message);
  }
  const { uuid } = await ownInstance(call);
  const resizeTo = size && {
    ...camelKeys(size),
    flavor: size.flavor === undefined ? undefined : { name: size.flavor, version: 0 },
  };
  const after = await (await call.client()).operate(uuid, action, { ...camelKeys(rest), resizeTo });
  return { status: 202, body: instanceJson(after) };
}

/** Another project's is to a tenant as one that is not there. @throws BerthError `not_found / no_such_instance`. */
async function ownInstance({ caller, client, params: { uuid } }: BuildCall): Promise<InstanceView> {
  const found = await (await client()).instance(uuid);
  if (caller.isOperator || found.projectId === caller.projectId) return found;
  throw noSuchInstance(uuid);
}
