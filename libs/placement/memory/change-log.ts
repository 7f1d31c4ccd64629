import type { Change } from '../port/placement-store';
import { revisionTrimmed } from '../port/revisions';

/** The stream of changes: the last ones, for followers to catch up. */
export class ChangeLog {
  private changes: Change[] = [];
  private isTrimmed = false;
  private waiting: (() => void)[] = [];

  constructor(private readonly maxLength: number) {}

  append(change: Change): void {
    this.changes.push(change);
    // Trimmed in large steps, so that the amortised cost is nothing.
    if (this.changes.length >= 2 * this.maxLength) {
      this.changes = this.changes.slice(-this.maxLength);
      this.isTrimmed = true;
    }
    for (const wake of this.waiting.splice(0)) wake();
  }

  /** As `PlacementStore.follow`; `present` gives the store's revision. */
  async follow(
    from: number,
    present: () => number,
    onChanges: (changes: readonly Change[]) => void,
    signal: AbortSignal,
  ): Promise<void> {
    let revision = from;
    while (!signal.aborted) {
      const changes = this.after(revision, present());
      if (changes.length > 0) {
        onChanges(changes);
        revision = changes.at(-1)?.revision ?? revision;
      } else {
        await this.next(signal);
      }
    }
  }

  private after(revision: number, present: number): readonly Change[] {
    if (revision === present) return [];
    // The first revision of a store is not 1.
    const isFromStart = revision === 0 && !this.isTrimmed;
    const from = this.indexOf(revision) + 1;
    let to = from + Number(isFromStart);
    while (this.changes[to]?.revision === (this.changes[to - 1]?.revision ?? revision) + 1) to++;
    // Changes beyond a gap were trimmed; or another server took over, and what was applied ahead of it is lost.
    if (to === from) throw revisionTrimmed(revision);
    return this.changes.slice(from, to);
  }

  /** Where the change of a revision is; -1 when it is not there. */
  private indexOf(revision: number): number {
    let [low, high] = [0, this.changes.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const found = this.changes[middle]?.revision ?? 0;
      if (found === revision) return middle;
      if (found < revision) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  private next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.waiting.push(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}
