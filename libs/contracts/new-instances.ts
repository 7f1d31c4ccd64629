import type { Instance, Pending, Unplaced } from '../domain/instance';
import type { Random } from '../domain/random';
import type { EncodedRequestSpec } from './codec';
import type { BuildRequest } from './conductor';
import { type Kind, kindsOf } from './member-kinds';

/** The fields of a request's instances that differ between paths. */
export interface NewInstancesOptions extends Pick<Instance, 'projectId' | 'userId'> {
  /** The specs that records keep, one a kind: as they came, or with their flavors filled in. */
  readonly requestSpecs: readonly EncodedRequestSpec[];
  readonly nowMs: number;
  /** In which state they begin, and when they are to be looked after. */
  readonly begin: Pick<Pending, 'state' | 'dueAtMs' | 'waiting'> | Pick<Unplaced, 'state' | 'dueAtMs'>;
}

/** The first versions of the instances that a request asks for, kind by kind. */
export function newInstances(request: BuildRequest, random: Random, options: NewInstancesOptions): Instance[] {
  const kinds = kindsOf(request);
  return kinds.flatMap((kind, n) => ofKind(kind, kinds.length > 1 ? n : undefined, { request, random, ...options }));
}

interface Asked {
  readonly request: BuildRequest;
  readonly random: Random;
}

/** @param n  number of the kind, where there are several */
function ofKind(
  { count, minCount, name, from, requestSpec: asked }: Kind,
  n: number | undefined,
  { request, random, projectId, userId, requestSpecs, nowMs, begin }: NewInstancesOptions & Asked,
): Instance[] {
  const base = name || `instance-${request.requestId.slice(0, 8)}${n ? `-kind${n + 1}` : ''}`;
  const { onLoss } = request;
  const gang = { minCount, count, ...(n === undefined ? {} : { kind: n }), ...(onLoss ? { onLoss } : {}) };
  const requestSpec = requestSpecs[n ?? 0] ?? asked;
  return Array.from({ length: count }, (_, i) => ({
    uuid: request.instanceUuids[from + i] ?? random.uuid(),
    requestId: request.requestId,
    name: count === 1 ? base : `${base}-${i + 1}`,
    projectId,
    userId,
    host: undefined,
    claimToken: undefined,
    attempts: [],
    fault: undefined,
    requestSpec,
    alternates: new Uint8Array(),
    allocationRequest: new Uint8Array(),
    activeAt: undefined,
    missingIn: undefined,
    ...(minCount ? { gang } : {}),
    ...(request.admission ? { admission: request.admission } : {}),
    ...begin,
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }));
}
