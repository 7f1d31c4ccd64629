import type { Resources } from '#libs/domain/inventory';
import type { RunningWorkload } from '../driver';
import { factsOf, isOfCell, LABELS } from './container-options';
import type { Engine } from './engine';

/** Containers that no agent of this cell started. */
export interface ExternalContainers {
  list(): Promise<readonly RunningWorkload[]>;
}

const MIB = 1_048_576;

/**
 * They count with their limits; one without limits gives no information. Limits are read once. Those of other cells'
 * agents count with their instances' resources.
 *
 * @param cores  of the machine
 */
export function externalContainers(docker: Engine, cell: string, cores: readonly number[]): ExternalContainers {
  let known = new Map<string, Resources>();
  return {
    async list() {
      const others = (await docker.listContainers()).filter(
        ({ Labels }) => Labels[LABELS.instance] === undefined || !isOfCell(Labels, cell),
      );
      const found = await Promise.all(
        others.map(async ({ Id }) => [Id, known.get(Id) ?? (await limitsOf(docker, Id, cores))] as const),
      );
      known = new Map(found);
      return found.map(([Id, resources]) => ({ id: `container:${Id.slice(0, 12)}`, resources }));
    },
  };
}

/** A container that ended meanwhile uses nothing. */
async function limitsOf(docker: Engine, id: string, cores: readonly number[]): Promise<Resources> {
  const container = await docker
    .getContainer(id)
    .inspect()
    .catch(() => undefined);
  if (container?.Config.Labels[LABELS.facts] !== undefined) return factsOf(container, cores).resources;
  const { NanoCpus = 0, Memory = 0 } = container?.HostConfig ?? {};
  return {
    ...(NanoCpus > 0 && { VCPU: Math.ceil(NanoCpus / 1e9) }),
    ...(Memory > 0 && { MEMORY_MB: Math.ceil(Memory / MIB) }),
  };
}
