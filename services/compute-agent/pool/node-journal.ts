import type { HostDisabled } from '#libs/contracts/messages';
import type { RememberedNode } from '../drivers/baremetal/remembered-node';
import type { Journal } from '../host/journal';
import type { TrackedInstance } from '../host/ledger';

interface Remembered {
  readonly instances: readonly TrackedInstance[];
  readonly disabled?: HostDisabled | undefined;
}

/**
 * An instance that had a node by processors, memory and disk has it by its class from now on, as the node's agents see it. What is claimed
 * for it is a conductor's to change (`HealAllocation`); until then nobody else is given the node, for the store gives it to one.
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
    // It was sealed for what it held before.
    allocationRequest: '',
  }));
  await node.change({ journal: JSON.stringify({ ...remembered, instances }) });
}

/** The journal of a node, which its next manager reads: it stands in the store, with what else is remembered of the node. */
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
    // A node that loses its power keeps its instance: none is lost by itself.
    loadLost: async () => [],
    async putLost() {},
    async removeLost() {},
  };
}
