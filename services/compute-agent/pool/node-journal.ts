import type { HostDisabled } from '#libs/contracts/stats';
import type { RememberedNode } from '../drivers/baremetal/remembered-node';
import type { Journal } from '../host/journal';
import type { TrackedInstance } from '../host/tracked-instance';

interface Remembered {
  readonly instances: readonly TrackedInstance[];
  readonly disabled?: HostDisabled | undefined;
}

/**
 * Changes an instance that has a node by processors, memory and disk to the node's class in the journal. A conductor
 * changes its claim (`HealAllocation`); until then nobody else gets the node, since the store gives it to one.
 */
export async function holdByClass(node: RememberedNode): Promise<void> {
  const { journal, resourceClass } = node.record;
  if (journal === '') return;
  const remembered = JSON.parse(journal) as Remembered;
  if (remembered.instances.every(({ resources }) => resources[resourceClass] === 1)) return;
  const instances = remembered.instances.map((instance) => ({
    ...instance,
    resources: { [resourceClass]: 1 },
    allocations: {},
    // It was sealed for the former resources.
    allocationRequest: '',
  }));
  await node.change({ journal: JSON.stringify({ ...remembered, instances }) });
}

/** The journal of a node; it is part of the node's stored record, so that its next manager can read it. */
export function nodeJournal(node: RememberedNode): Journal {
  const read = (): Remembered => {
    const { journal } = node.record;
    return journal === '' ? { instances: [] } : (JSON.parse(journal) as Remembered);
  };
  const write = (fields: Partial<Remembered>) => node.change({ journal: JSON.stringify({ ...read(), ...fields }) });
  const others = (uuid: string) => read().instances.filter((instance) => instance.uuid !== uuid);
  return {
    load: async () => [...read().instances],
    loadUnreadable: async () => [],
    loadDisabled: async () => read().disabled,
    putDisabled: (disabled) => write({ disabled }),
    put: (instance) => write({ instances: [...others(instance.uuid), instance] }),
    async remove(uuid) {
      const rest = others(uuid);
      if (rest.length < read().instances.length) await write({ instances: rest });
    },
    // A node that loses its power keeps its instance, and orders are valid under one manager only.
    loadEnded: async () => [],
    async putEnded() {},
    async removeEnded() {},
  };
}
