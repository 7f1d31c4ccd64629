import type { Instance, Pending, Unplaced } from '../domain/instance';
import type { Random } from '../domain/random';
import type { EncodedRequestSpec } from './codec';
import type { BuildRequest } from './conductor';

/** The fields of a request's instances that differ between paths. */
export interface NewInstancesOptions extends Pick<Instance, 'projectId' | 'userId'> {
  /** The spec that records keep: as it came, or with its flavor filled in. */
  readonly requestSpec: EncodedRequestSpec;
  readonly nowMs: number;
  /** In which state they begin, and when they are to be looked after. */
  readonly begin: Pick<Pending, 'state' | 'dueAtMs' | 'waiting'> | Pick<Unplaced, 'state' | 'dueAtMs'>;
}

/** The first versions of the instances that a request asks for. */
export function newInstances(request: BuildRequest, random: Random, options: NewInstancesOptions): Instance[] {
  const { projectId, userId, requestSpec, nowMs, begin } = options;
  const base = request.name || `instance-${request.requestId.slice(0, 8)}`;
  return Array.from({ length: request.count }, (_, i) => ({
    uuid: request.instanceUuids[i] ?? random.uuid(),
    requestId: request.requestId,
    name: request.count === 1 ? base : `${base}-${i + 1}`,
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
    ...(request.minCount ? { gang: { minCount: request.minCount, count: request.count } } : {}),
    ...(request.admission ? { admission: request.admission } : {}),
    ...begin,
    version: 1,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }));
}
