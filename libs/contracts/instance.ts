import { berth } from '#generated/berth';
import { MIGRATION_PHASES } from '../domain/moves/migration';
import { admission, waiting } from './admission';
import { hostName, hostNameOrEmpty, name, projectId, text, uuid, uuidOrEmpty, whole } from './checks';
import { errorCodec } from './error';
import { count, enumOf, list, omittable, oneOf, optional, orUndefined, pageLimit } from './fields';
import { MAX_ATTEMPTS, MAX_PAGE } from './limits';
import { onLoss } from './member-kinds';
import { message, type PlainOf } from './message';
import { FEW, KIB, MANY, ofServices, ofTenants } from './message-rules';
import { requestSpec } from './request-spec';

const wire = berth.conductor.v1;
const state = enumOf(wire.InstanceState, 'INSTANCE_STATE');

const attempt = message(wire.Attempt, {
  host: hostNameOrEmpty,
  number: count,
  outcome: oneOf([
    'building',
    'active',
    'failed',
    'refused',
    'timed_out',
    'not_claimed',
    'evacuated',
    'rolled_back',
    'preempted',
    'shelved',
    'moved',
    'reverted',
  ]),
  reason: text,
  startedAtMs: whole,
  endedAtMs: orUndefined(whole),
});

/** On the topic `instance.<state>.<project>.<uuid>`: a state that an instance reached. */
export const instanceEventCodec = message(
  wire.InstanceEvent,
  {
    instanceUuid: uuid,
    requestId: uuid,
    projectId,
    state,
    host: hostNameOrEmpty,
    atMs: whole,
    version: whole,
    fault: orUndefined(errorCodec),
    attempts: list(attempt, MAX_ATTEMPTS),
    name,
  },
  { rule: ofServices(MANY) },
);
export type InstanceEvent = PlainOf<typeof instanceEventCodec>;

/** The move that an instance is on. */
const migration = message(wire.Migration, {
  uuid,
  kind: oneOf(['resize', 'migrate', 'live_migrate']),
  sourceHost: hostName,
  destHost: hostNameOrEmpty,
  confirmAtMs: whole,
  phase: optional(oneOf(MIGRATION_PHASES)),
  plan: optional(name),
});
export type MigrationView = PlainOf<typeof migration>;

/** An instance as clients see it. */
export const instanceView = message(wire.Instance, {
  uuid,
  requestId: uuid,
  name,
  projectId,
  userId: name,
  state,
  host: hostNameOrEmpty,
  attempts: list(attempt, MAX_ATTEMPTS),
  fault: orUndefined(errorCodec),
  createdAtMs: whole,
  updatedAtMs: whole,
  requestSpec,
  version: whole,
  /** The `min_count` of its request, when it is a gang. */
  minCount: omittable(count),
  onLoss,
  gangSize: omittable(count),
  admission: optional(admission),
  waiting: optional(waiting),
  /** 0 when it has no time limit. */
  endsAtMs: omittable(whole),
  migration: optional(migration),
  /** By the top: the cell that it was given to. */
  cell: optional(name),
});
export type InstanceView = PlainOf<typeof instanceView>;

/** To `rpc.conductor`: instances that match, by uuid, page by page. What is '' matches all, and so does no state. */
export const listInstancesMethod = {
  request: message(
    wire.ListInstancesRequest,
    {
      instanceUuid: uuidOrEmpty,
      requestId: uuidOrEmpty,
      projectId,
      state: orUndefined(state),
      host: hostNameOrEmpty,
      marker: uuidOrEmpty,
      limit: pageLimit(MAX_PAGE, MAX_PAGE),
    },
    { rule: ofTenants(4 * KIB, FEW) },
  ),
  response: message(wire.ListInstancesResponse, { instances: list(instanceView, MAX_PAGE) }),
};
export type ListInstancesRequest = PlainOf<typeof listInstancesMethod.request>;
export type ListInstancesResponse = PlainOf<typeof listInstancesMethod.response>;
