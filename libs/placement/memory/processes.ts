import { MAX_PROCESSES, type ProcessStore, type SeenProcess } from '../port/processes';

/** The processes of a store in memory. */
export class MemoryProcesses implements ProcessStore {
  /** In the order in which they were seen. */
  readonly #seen = new Map<string, SeenProcess & { readonly seenAtMs: number }>();

  async noteProcess(process: SeenProcess, atMs: number, keptMs: number): Promise<void> {
    const id = `${process.service} ${process.name}`;
    const seenAtMs = Math.max(atMs, this.#seen.get(id)?.seenAtMs ?? 0);
    this.#seen.delete(id);
    this.#seen.set(id, { ...process, seenAtMs });
    for (const [other, { seenAtMs: last }] of this.#seen) {
      if (last < atMs - keptMs || this.#seen.size > MAX_PROCESSES) this.#seen.delete(other);
    }
  }

  async forgetProcess(service: string, name: string): Promise<void> {
    this.#seen.delete(`${service} ${name}`);
  }

  async processes() {
    return [...this.#seen].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, process]) => process);
  }
}
