import { STATE_NAMES } from '#libs/client/nova-states';
import type { WaitingView } from '#libs/contracts/admission';
import type { InstanceEvent, InstanceView } from '#libs/contracts/instance';
import type { Flavor } from '#libs/domain/flavor';
import { type Attempt, nameOfState } from '#libs/domain/instance';
import { anyText, CLASS_NAME, integer, keyed, list, orNull, type Schema, text, whole } from '../schemas/parts';

/* Instances, events and flavors as JSON. */

const amounts = keyed(CLASS_NAME, integer);

const share: Schema = { type: 'number' };

/** The number by which a request stands among those of its priority, and its parts. */
const standing = whole({
  number: share,
  now: share,
  lately: share,
  weight: integer,
  ahead: share,
  patience: share,
  half_life_ms: integer,
});

const told = {
  request_id: text,
  project_id: text,
  name: text,
  state: { type: 'string', enum: STATE_NAMES },
  host: orNull(text),
  version: integer,
  fault: orNull(whole({ reason: text, message: text })),
  attempts: list(
    whole({
      host: text,
      number: integer,
      outcome: text,
      reason: text,
      started_at_ms: integer,
      ended_at_ms: orNull(integer),
    }),
  ),
};

export const instanceSchema = whole({
  uuid: text,
  user_id: text,
  ...told,
  flavor: orNull(text),
  resources: amounts,
  created_at_ms: integer,
  updated_at_ms: integer,
  ends_at_ms: orNull(integer),
  waiting: orNull(
    whole({ since_ms: integer, until_ms: integer, waits_for: list(text), place: integer, standing: orNull(standing) }),
  ),
  migration: orNull(whole({ kind: text, source_host: text, dest_host: text, phase: orNull(text) })),
  gang: orNull(whole({ min_count: integer, count: integer, on_loss: orNull(text) })),
  cell: orNull(text),
});

export const eventSchema = whole({ instance_uuid: text, ...told, at_ms: integer });

export const flavorSchema = whole({
  name: text,
  version: integer,
  description: text,
  resources: amounts,
  extra_specs: keyed(anyText, text),
});

/** An instance as its tenant sees it: of others that are preempted for it only operators hear. */
export function instanceJson(view: InstanceView) {
  const { uuid, userId, requestSpec, createdAtMs, updatedAtMs, endsAtMs, waiting, migration } = view;
  return {
    uuid,
    user_id: userId,
    ...toldOf(view),
    flavor: requestSpec.flavor?.name ?? null,
    resources: requestSpec.resources,
    created_at_ms: createdAtMs,
    updated_at_ms: updatedAtMs,
    ends_at_ms: endsAtMs || null,
    waiting: waiting ? waitingJson(waiting) : null,
    migration: migration
      ? {
          kind: migration.kind,
          source_host: migration.sourceHost,
          dest_host: migration.destHost,
          phase: migration.phase ?? null,
        }
      : null,
    gang: view.minCount ? { min_count: view.minCount, count: view.gangSize ?? 0, on_loss: view.onLoss ?? null } : null,
    cell: view.cell ?? null,
  };
}

function waitingJson({ sinceMs, untilMs, waitsFor, place, standing: by }: WaitingView) {
  const found = by && {
    number: by.number,
    now: by.now,
    lately: by.lately,
    weight: by.weight,
    ahead: by.ahead,
    patience: by.patience,
    half_life_ms: by.halfLifeMs,
  };
  return { since_ms: sinceMs, until_ms: untilMs, waits_for: waitsFor, place, standing: found ?? null };
}

export function eventJson(event: InstanceEvent) {
  return { instance_uuid: event.instanceUuid, ...toldOf(event), at_ms: event.atMs };
}

export function flavorJson({ name, version, description, resources, extraSpecs }: Flavor) {
  return { name, version, description, resources, extra_specs: extraSpecs };
}

function toldOf({ requestId, projectId, name, state, host, version, fault, attempts }: InstanceEvent | InstanceView) {
  return {
    request_id: requestId,
    project_id: projectId,
    name,
    state: nameOfState(state),
    host: host || null,
    version,
    fault: fault ? { reason: fault.reason, message: fault.message } : null,
    attempts: attempts.map(attemptJson),
  };
}

function attemptJson({ host, number, outcome, reason, startedAtMs, endedAtMs }: Attempt) {
  return { host, number, outcome, reason, started_at_ms: startedAtMs, ended_at_ms: endedAtMs ?? null };
}
