import { randomUUID } from 'node:crypto';
import type { Instance, InstanceRow } from '../../domain/instance';

/** An instance right after its request was stored; `fields` override the defaults. */
export function anInstance(fields: Partial<InstanceRow> = {}): Instance {
  return {
    uuid: randomUUID(),
    requestId: randomUUID(),
    name: 'web-1',
    projectId: 'project-1',
    userId: 'user-1',
    state: 'scheduling',
    host: undefined,
    claimToken: undefined,
    attempts: [],
    fault: undefined,
    requestSpec: Uint8Array.of(0, 10, 13, 255),
    alternates: new Uint8Array(),
    allocationRequest: new Uint8Array(),
    activeAt: undefined,
    missingIn: undefined,
    dueAtMs: undefined,
    version: 1,
    createdAtMs: 1_700_000_000_000,
    updatedAtMs: 1_700_000_000_000,
    ...ofState(fields),
    ...fields,
  } as Instance;
}

/** The next version of an instance. */
export function nextVersion(instance: Instance, fields: Partial<InstanceRow>): Instance {
  return { ...instance, ...ofState(fields), ...fields, version: instance.version + 1 } as Instance;
}

/** The least that a pending instance has. */
function ofState({ state }: Partial<InstanceRow>): Partial<InstanceRow> {
  return state === 'pending' ? { waiting: { sinceMs: 0, untilMs: 0, waitsFor: [] } } : {};
}
