import { randomUUID } from 'node:crypto';
import { requestSpec } from '#libs/domain/request-spec';
import type { InstanceToBuild } from '../drivers/driver';

/** An instance for a whole node of class GOLD. */
export function aMetalInstance(uuid: string = randomUUID()): InstanceToBuild {
  const resources = { CUSTOM_BAREMETAL_GOLD: 1 };
  return {
    uuid,
    name: 'db-1',
    projectId: 'p',
    resources,
    requestSpec: requestSpec(resources, { projectId: 'p', userId: 'u' }),
    claimed: {},
    mappings: {},
  };
}
