import type { InstanceEvent } from '#libs/contracts/instance';
import type { InstanceStore } from '#libs/instances/store';

/** Limit of the names that are kept: 200,000 take about 30 MB. */
const MOST = 200_000;

/** The names of the store's instances, for search: read once, then kept by events. */
export class InstanceNames {
  readonly #names = new Map<string, string>();
  readonly #gone = new Set<string>();
  #isRead = false;

  /** Reads the names of all instances. @throws BerthError `unavailable`: read again. */
  async read(instances: Pick<InstanceStore, 'scan'>): Promise<void> {
    if (this.#isRead) return;
    await instances.scan(async (rows) => {
      for (const { uuid, name, state } of rows) if (state !== 'deleted' && !this.#gone.has(uuid)) this.#put(uuid, name);
    });
    this.#isRead = true;
    this.#gone.clear();
  }

  take({ instanceUuid, name, state }: InstanceEvent): void {
    if (state !== 'deleted') return this.#put(instanceUuid, name);
    this.#names.delete(instanceUuid);
    // A read may be older than the event.
    if (!this.#isRead) this.#gone.add(instanceUuid);
  }

  /** Uuids with their lower-case names. */
  all(): ReadonlyMap<string, string> {
    return this.#names;
  }

  #put(uuid: string, name: string): void {
    if (this.#names.size < MOST || this.#names.has(uuid)) this.#names.set(uuid, name.toLowerCase());
  }
}
