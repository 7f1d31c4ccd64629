import type { HostDisabled } from '#libs/contracts/stats';
import type { EndedBuild, Journal } from './host/journal';
import type { TrackedInstance } from './host/tracked-instance';

/** A journal in memory, for hosts that outlive their agents in one process. */
export interface MemoryJournal extends Journal {
  readonly instances: ReadonlyMap<string, TrackedInstance>;
  /** The disk is another, with these instances and nothing else. */
  replace(remembered: readonly TrackedInstance[]): void;
}

/** @param remembered  instances that are on the host by now */
export function memoryJournal(remembered: readonly TrackedInstance[] = []): MemoryJournal {
  const instances = new Map(remembered.map((instance) => [instance.uuid, instance]));
  const ended = new Map<string, EndedBuild>();
  let disabled: HostDisabled | undefined;
  return {
    instances,
    replace(others) {
      instances.clear();
      ended.clear();
      disabled = undefined;
      for (const instance of others) instances.set(instance.uuid, instance);
    },
    load: async () => [...instances.values()],
    loadUnreadable: async () => [],
    loadEnded: async () => [...ended.values()],
    async putEnded(instance) {
      ended.set(instance.uuid, instance);
    },
    async removeEnded(uuid) {
      ended.delete(uuid);
    },
    loadDisabled: async () => disabled,
    async putDisabled(next) {
      disabled = next;
    },
    async put(instance) {
      instances.set(instance.uuid, instance);
    },
    async remove(uuid) {
      instances.delete(uuid);
    },
  };
}
