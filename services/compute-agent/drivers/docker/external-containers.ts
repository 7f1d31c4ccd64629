import type Docker from 'dockerode';
import type { Resources } from '#libs/domain/inventory';
import type { RunningWorkload } from '../driver';
import { LABELS } from './container-options';

/** Containers of the engine that no agent started. */
export interface ExternalContainers {
  list(): Promise<readonly RunningWorkload[]>;
}

const MIB = 1_048_576;

/** They count with the limits that they were given: one without any says nothing of what it uses. Limits are read once. */
export function externalContainers(docker: Docker): ExternalContainers {
  let known = new Map<string, Resources>();
  return {
    async list() {
      const others = (await docker.listContainers()).filter(({ Labels }) => Labels[LABELS.instance] === undefined);
      const found = await Promise.all(
        others.map(async ({ Id }) => [Id, known.get(Id) ?? (await limitsOf(docker, Id))] as const),
      );
      known = new Map(found);
      return found.map(([Id, resources]) => ({ id: `container:${Id.slice(0, 12)}`, resources }));
    },
  };
}

/** One that ended meanwhile uses nothing. */
async function limitsOf(docker: Docker, id: string): Promise<Resources> {
  const limits = await docker
    .getContainer(id)
    .inspect()
    .then(({ HostConfig }) => HostConfig)
    .catch(() => undefined);
  const { NanoCpus = 0, Memory = 0 } = limits ?? {};
  return {
    ...(NanoCpus > 0 && { VCPU: Math.ceil(NanoCpus / 1e9) }),
    ...(Memory > 0 && { MEMORY_MB: Math.ceil(Memory / MIB) }),
  };
}
