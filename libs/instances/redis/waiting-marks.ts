import { setTimeout as delay } from 'node:timers/promises';

/** Time for which a mark waits for a write to go with. */
const COLLECT_MS = 20;

interface Mark {
  readonly uuid: string;
  readonly version: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Marks of published events, which wait for the next write of this process and go before it, in the same run.
 *
 * The naive way writes each mark at once: then a store that syncs its file before it answers syncs twice for each version of
 * a record. Nobody waits for a mark, and one that is lost only lets an event be published twice. So a mark goes with the write
 * that comes next, at the latest after a moment. What it costs: a process that dies in that moment leaves events to be
 * published again.
 */
export class WaitingMarks {
  #waiting: Mark[] = [];

  /** @param write  called in order, before the write that they go with */
  constructor(private readonly write: (uuid: string, version: number) => Promise<unknown>) {}

  /** Resolves when the mark is written. @throws what the write throws. */
  add(uuid: string, version: number): Promise<void> {
    // Not cancelled: marks that came later than those that it is for go a little early.
    if (this.#waiting.length === 0) void delay(COLLECT_MS).then(() => this.flush());
    return new Promise((resolve, reject) => this.#waiting.push({ uuid, version, resolve, reject }));
  }

  flush(): void {
    const marks = this.#waiting;
    this.#waiting = [];
    for (const { uuid, version, resolve, reject } of marks) this.write(uuid, version).then(() => resolve(), reject);
  }
}
