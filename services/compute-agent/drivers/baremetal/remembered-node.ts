import type { NodeRecord } from '#libs/domain/nodes/node';
import { type NodeVerb, nextNodeState } from '#libs/domain/nodes/node-state';

/** Facts about a node's controller: operators see them, no order rests on them. */
export type ControllerFacts = Pick<NodeRecord, 'health' | 'contactedAtMs' | 'tellsBoot' | 'systemId' | 'systemLink'>;

/** Writes a node's record, fenced by the epoch of its lease. */
export type WriteNode = (record: NodeRecord) => Promise<void>;

/**
 * The record of one node, here and in the store. A change is visible here at once, and resolves once the store has it:
 * the node's next order may rest on it, and so may its next manager.
 *
 * Changes during a write share the next write.
 */
export class RememberedNode {
  #record: NodeRecord;
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  /** The last write has failed: the store lacks the record's present state. */
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

  /** Calls the listener at each change of state, before the write. */
  onStateChange(listener: () => void): void {
    this.#onStateChange = listener;
  }

  /** @throws BerthError of the write; the change stays here, and the next one writes it too. */
  change(fields: Partial<NodeRecord>): Promise<void> {
    const before = this.#record;
    // Rises with each change, whatever the clock: it identifies late writes at the store, and orders made for an
    // earlier state.
    const updatedAtMs = Math.max(before.updatedAtMs + 1, this.nowMs());
    this.#record = { ...before, ...fields, updatedAtMs };
    if (before.state !== this.#record.state) this.#onStateChange();
    return this.#writeSoon();
  }

  /**
   * Notes facts about the controller without a new `updatedAtMs`, so that orders for the present state stay valid.
   * @throws like `change`.
   */
  note(facts: Partial<ControllerFacts>): Promise<void> {
    this.#record = { ...this.#record, ...facts };
    return this.#writeSoon();
  }

  /** @throws BerthError `failed_precondition / node_state`, and like `change`. */
  async move(verb: NodeVerb, fields: Partial<NodeRecord> = {}): Promise<void> {
    const { state, stateBefore } = this.#record;
    const next = nextNodeState(state, verb, stateBefore);
    const isLeft = next === 'maintenance' ? {} : { stateBefore: undefined, reason: '' };
    await this.change({ ...isLeft, ...fields, state: next });
  }

  /** Resolves once the store has the whole record: a failed write is repeated. @throws like `change`. */
  async written(): Promise<void> {
    // The next write begins at the end of this one.
    for (let last = this.#last; last; last = this.#last) await last.catch(() => {});
    if (this.#isUnwritten) await this.#writeSoon();
  }

  /** Writes the record again although it was written: the store has lost it. @throws like `change`. */
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
