import type { NodeRecord } from '#libs/domain/nodes/node';
import { type NodeVerb, nextNodeState } from '#libs/domain/nodes/node-state';

/** What is known of a node's controller: operators see it, no order rests on it. */
export type ControllerFacts = Pick<NodeRecord, 'health' | 'contactedAtMs' | 'tellsBoot' | 'systemId' | 'systemLink'>;

/** Writes what is remembered of a node, fenced by the epoch by which it is held. */
export type WriteNode = (record: NodeRecord) => Promise<void>;

/**
 * What is remembered of one node, here and in the store. A change is seen here at once, and is done when the store has it: what is
 * ordered of the node next may rest on it, and so may its next manager.
 *
 * Changes that are made while one is being written share the next write.
 */
export class RememberedNode {
  #record: NodeRecord;
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  /** The last write has failed: the store does not have what is remembered here. */
  #isUnwritten = false;
  #onStateChange = () => {};

  constructor(
    first: NodeRecord,
    private readonly write: WriteNode,
    private readonly nowMs: () => number,
  ) {
    this.#record = first;
  }

  get record(): NodeRecord {
    return this.#record;
  }

  /** Hears of each change of state, before it is written. */
  onStateChange(listener: () => void): void {
    this.#onStateChange = listener;
  }

  /** @throws BerthError of the write, with the change made here all the same: the next change writes it, too. */
  change(fields: Partial<NodeRecord>): Promise<void> {
    const before = this.#record;
    // It rises with each change, whatever clocks say: what comes late at the store is known by it, and so are orders of before.
    const updatedAtMs = Math.max(before.updatedAtMs + 1, this.nowMs());
    this.#record = { ...before, ...fields, updatedAtMs };
    if (before.state !== this.#record.state) this.#onStateChange();
    return this.#writeSoon();
  }

  /** Notes what is known of the controller. The node has not changed by it: what was ordered of it as it was stays good. @throws as `change`. */
  note(facts: Partial<ControllerFacts>): Promise<void> {
    this.#record = { ...this.#record, ...facts };
    return this.#writeSoon();
  }

  /** @throws BerthError `failed_precondition / node_state`, and as `change`. */
  async move(verb: NodeVerb, fields: Partial<NodeRecord> = {}): Promise<void> {
    const { state, stateBefore } = this.#record;
    const next = nextNodeState(state, verb, stateBefore);
    const isLeft = next === 'maintenance' ? {} : { stateBefore: undefined, reason: '' };
    await this.change({ ...isLeft, ...fields, state: next });
  }

  /** Resolves when the store has all that is remembered here: a change whose write failed is written again. @throws as `change`. */
  async written(): Promise<void> {
    // The next write begins with the end of this one.
    for (let last = this.#last; last; last = this.#last) await last.catch(() => {});
    if (this.#isUnwritten) await this.#writeSoon();
  }

  /** Writes what is remembered here, though it was written: the store has lost it. @throws as `change`. */
  writeAgain(): Promise<void> {
    return this.#writeSoon();
  }

  get #last(): Promise<void> | undefined {
    return this.#next ?? this.#writing;
  }

  #writeSoon(): Promise<void> {
    if (!this.#writing) return this.#writeNow();
    this.#next ??= this.#writing
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#writeNow();
      });
    return this.#next;
  }

  #writeNow(): Promise<void> {
    const writing = this.write(this.#record).then(
      () => {
        this.#isUnwritten = false;
      },
      (thrown: unknown) => {
        this.#isUnwritten = true;
        throw thrown;
      },
    );
    const ended = () => {
      if (this.#writing === writing) this.#writing = undefined;
    };
    writing.then(ended, ended);
    this.#writing = writing;
    return writing;
  }
}
