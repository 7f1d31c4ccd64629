import { BerthError } from '../domain/errors';
import type { InstanceRow } from '../domain/instance';
import type { WaitingView } from './admission';
import type { InstanceEvent, InstanceView, MigrationView } from './instance';
import { requestSpecCodec } from './request-spec';

/** An instance as clients see it. */
export function instanceView(instance: InstanceRow): InstanceView {
  const { uuid, requestId, name, projectId, userId, state, attempts, createdAtMs, updatedAtMs, version } = instance;
  return {
    uuid,
    requestId,
    name,
    projectId,
    userId,
    state,
    host: instance.host ?? '',
    attempts,
    fault: faultError(instance),
    createdAtMs,
    updatedAtMs,
    requestSpec: requestSpecCodec.decode(instance.requestSpec),
    version,
    ...(instance.gang && {
      minCount: instance.gang.minCount,
      gangSize: instance.gang.count,
      onLoss: instance.gang.onLoss,
    }),
    admission: instance.admission,
    waiting: waitingView(instance),
    endsAtMs: instance.endsAtMs ?? 0,
    migration: migrationView(instance),
    ...(instance.cell ? { cell: instance.cell.name } : {}),
  };
}

function waitingView({ waiting }: InstanceRow): WaitingView | undefined {
  if (waiting === undefined) return undefined;
  const { sinceMs, untilMs, waitsFor, preemption } = waiting;
  const by = {
    preemptingOn: preemption?.host ?? '',
    preemptingOnFurther: preemption?.furtherHosts ?? [],
    victims: preemption?.victims ?? [],
    reclaims: preemption?.reclaims ?? false,
  };
  return { sinceMs, untilMs, waitsFor, place: 0, expectedAtMs: 0, ...by };
}

function migrationView({ migration }: InstanceRow): MigrationView | undefined {
  if (migration === undefined) return undefined;
  const { uuid, kind, phase, plan, source, destination, confirmAtMs = 0 } = migration;
  return { uuid, kind, phase, plan, sourceHost: source.host, destHost: destination.host, confirmAtMs };
}

/** A version of an instance as listeners hear of it. */
export function instanceEvent(instance: InstanceRow): InstanceEvent {
  const {
    uuid: instanceUuid,
    requestId,
    projectId,
    state,
    host = '',
    updatedAtMs: atMs,
    version,
    attempts,
    name,
  } = instance;
  return {
    instanceUuid,
    requestId,
    projectId,
    state,
    host,
    atMs,
    version,
    fault: faultError(instance),
    attempts,
    name,
  };
}

/** Why an instance is as it is, as an error. */
export function faultError({ fault }: Pick<InstanceRow, 'fault'>): BerthError | undefined {
  return fault && new BerthError('failed_precondition', fault.reason, fault.message);
}
