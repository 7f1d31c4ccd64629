import { berth } from '#generated/berth';
import type { Attempt } from '../domain/instance';
import { MIGRATION_PHASES } from '../domain/moves/migration';
import { admissionFromWire, admissionToWire, waitingFromWire } from './admission';
import {
  enumeration,
  hostName,
  hostNameOrEmpty,
  list,
  name,
  optionalName,
  pageLimit,
  projectId,
  text,
  uuid,
  uuidOrEmpty,
  whole,
  word,
} from './checks';
import { type Codec, codec, type Method, type Mutable } from './codec';
import { errorFromWire, errorToWire } from './error';
import { MAX_ATTEMPTS, MAX_PAGE } from './limits';
import type {
  InstanceEvent,
  InstanceView,
  ListInstancesRequest,
  ListInstancesResponse,
  MigrationView,
  WaitingView,
} from './messages';
import { specFromWire, specToWire } from './request-spec';

const wire = berth.conductor.v1;
const OUTCOMES = [
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
] as const;
const KINDS = ['resize', 'migrate', 'live_migrate'] as const;
const { InstanceState } = wire;
const STATES = enumeration({
  scheduling: InstanceState.INSTANCE_STATE_SCHEDULING,
  building: InstanceState.INSTANCE_STATE_BUILDING,
  active: InstanceState.INSTANCE_STATE_ACTIVE,
  error: InstanceState.INSTANCE_STATE_ERROR,
  deleting: InstanceState.INSTANCE_STATE_DELETING,
  deleted: InstanceState.INSTANCE_STATE_DELETED,
  unknown: InstanceState.INSTANCE_STATE_UNKNOWN,
  stopping: InstanceState.INSTANCE_STATE_STOPPING,
  stopped: InstanceState.INSTANCE_STATE_STOPPED,
  starting: InstanceState.INSTANCE_STATE_STARTING,
  rebuilding: InstanceState.INSTANCE_STATE_REBUILDING,
  undoing: InstanceState.INSTANCE_STATE_UNDOING,
  pending: InstanceState.INSTANCE_STATE_PENDING,
  preempting: InstanceState.INSTANCE_STATE_PREEMPTING,
  shelving: InstanceState.INSTANCE_STATE_SHELVING,
  shelved_offloaded: InstanceState.INSTANCE_STATE_SHELVED_OFFLOADED,
  unshelving: InstanceState.INSTANCE_STATE_UNSHELVING,
  resize: InstanceState.INSTANCE_STATE_RESIZE,
  verify_resize: InstanceState.INSTANCE_STATE_VERIFY_RESIZE,
  revert_resize: InstanceState.INSTANCE_STATE_REVERT_RESIZE,
  migrating: InstanceState.INSTANCE_STATE_MIGRATING,
});
const ANY_STATE = InstanceState.INSTANCE_STATE_UNSPECIFIED;

/** On the topic `instance.<state>.<project>.<uuid>`: a state that an instance reached. */
export const instanceEventCodec: Codec<InstanceEvent> = codec(
  'berth.conductor.v1.InstanceEvent',
  wire.InstanceEvent,
  (event) => ({
    ...event,
    state: STATES.toWire(event.state),
    fault: event.fault ? errorToWire(event.fault) : null,
    attempts: event.attempts as Mutable<Attempt>[],
  }),
  (event) => ({
    instanceUuid: uuid(event.instanceUuid, 'instance_uuid'),
    requestId: uuid(event.requestId, 'request_id'),
    projectId: projectId(event.projectId, 'project_id'),
    state: STATES.fromWire(event.state, 'state'),
    host: hostNameOrEmpty(event.host, 'host'),
    atMs: whole(event.atMs, 'at_ms'),
    version: whole(event.version, 'version'),
    fault: event.fault ? errorFromWire(event.fault) : undefined,
    attempts: list(event.attempts, 'attempts', MAX_ATTEMPTS, attemptFromWire),
    name: name(event.name, 'name'),
  }),
);

/** To `rpc.conductor`: instances that match, by uuid, page by page. */
export const listInstancesMethod: Method<ListInstancesRequest, ListInstancesResponse> = {
  request: codec(
    'berth.conductor.v1.ListInstancesRequest',
    wire.ListInstancesRequest,
    (request) => ({ ...request, state: request.state === undefined ? ANY_STATE : STATES.toWire(request.state) }),
    (request) => ({
      instanceUuid: uuidOrEmpty(request.instanceUuid, 'instance_uuid'),
      requestId: uuidOrEmpty(request.requestId, 'request_id'),
      projectId: projectId(request.projectId, 'project_id'),
      state: request.state === ANY_STATE ? undefined : STATES.fromWire(request.state, 'state'),
      host: hostNameOrEmpty(request.host, 'host'),
      marker: uuidOrEmpty(request.marker, 'marker'),
      limit: pageLimit(request.limit, 'limit', MAX_PAGE, MAX_PAGE),
    }),
  ),
  response: codec(
    'berth.conductor.v1.ListInstancesResponse',
    wire.ListInstancesResponse,
    (response) => ({ instances: response.instances.map(viewToWire) }),
    (response) => ({ instances: list(response.instances, 'instances', MAX_PAGE, viewFromWire) }),
  ),
};

export function viewToWire(view: InstanceView): berth.conductor.v1.IInstance {
  return {
    ...view,
    state: STATES.toWire(view.state),
    fault: view.fault ? errorToWire(view.fault) : null,
    attempts: view.attempts as Mutable<Attempt>[],
    requestSpec: specToWire(view.requestSpec),
    admission: admissionToWire(view.admission),
    waiting: (view.waiting as Mutable<WaitingView> | undefined) ?? null,
    endsAtMs: view.endsAtMs ?? 0,
    cell: view.cell ?? '',
    migration: view.migration ? migrationToWire(view.migration) : null,
  };
}

export function viewFromWire(value: berth.conductor.v1.IInstance, field: string): InstanceView {
  const view = value as berth.conductor.v1.Instance;
  return {
    uuid: uuid(view.uuid, `${field}.uuid`),
    requestId: uuid(view.requestId, `${field}.request_id`),
    name: name(view.name, `${field}.name`),
    projectId: projectId(view.projectId, `${field}.project_id`),
    userId: name(view.userId, `${field}.user_id`),
    state: STATES.fromWire(view.state, `${field}.state`),
    host: hostNameOrEmpty(view.host, `${field}.host`),
    attempts: list(view.attempts, `${field}.attempts`, MAX_ATTEMPTS, attemptFromWire),
    fault: view.fault ? errorFromWire(view.fault) : undefined,
    createdAtMs: whole(view.createdAtMs, `${field}.created_at_ms`),
    updatedAtMs: whole(view.updatedAtMs, `${field}.updated_at_ms`),
    requestSpec: specFromWire(view.requestSpec, `${field}.request_spec`),
    version: whole(view.version, `${field}.version`),
    minCount: view.minCount,
    gangSize: view.gangSize,
    admission: admissionFromWire(view.admission, `${field}.admission`),
    waiting: waitingFromWire(view.waiting, `${field}.waiting`),
    endsAtMs: whole(view.endsAtMs, `${field}.ends_at_ms`),
    ...(view.cell === '' ? {} : { cell: name(view.cell, `${field}.cell`) }),
    migration: view.migration ? migrationFromWire(view.migration, `${field}.migration`) : undefined,
  };
}

function migrationToWire({ phase, plan, ...migration }: MigrationView): berth.conductor.v1.IMigration {
  return { ...migration, phase: phase ?? '', plan: plan ?? '' };
}

function migrationFromWire(value: berth.conductor.v1.IMigration, field: string): MigrationView {
  const migration = value as berth.conductor.v1.Migration;
  return {
    uuid: uuid(migration.uuid, `${field}.uuid`),
    kind: word(migration.kind, KINDS, `${field}.kind`),
    sourceHost: hostName(migration.sourceHost, `${field}.source_host`),
    destHost: hostNameOrEmpty(migration.destHost, `${field}.dest_host`),
    confirmAtMs: whole(migration.confirmAtMs, `${field}.confirm_at_ms`),
    phase: migration.phase === '' ? undefined : word(migration.phase, MIGRATION_PHASES, `${field}.phase`),
    plan: optionalName(migration.plan, `${field}.plan`),
  };
}

function attemptFromWire(value: berth.conductor.v1.IAttempt, field: string): Attempt {
  const attempt = value as berth.conductor.v1.Attempt;
  return {
    host: hostNameOrEmpty(attempt.host, `${field}.host`),
    number: attempt.number,
    outcome: word(attempt.outcome, OUTCOMES, `${field}.outcome`),
    reason: text(attempt.reason, `${field}.reason`),
    startedAtMs: whole(attempt.startedAtMs, `${field}.started_at_ms`),
    endedAtMs: whole(attempt.endedAtMs, `${field}.ended_at_ms`) || undefined,
  };
}
