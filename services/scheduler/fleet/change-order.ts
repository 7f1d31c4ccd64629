/**
 * Hosts in the order in which they changed, latest first: a linked list in typed arrays, each host in it once. Whoever
 * has seen everything up to a version walks only what changed after it, however often it changed, and nothing is ever
 * trimmed: the worst case is the whole fleet once.
 */
export class ChangeOrder {
  /** The version of the latest change; 0 before the first. */
  version = 0;
  private newest = NONE;
  private readonly newer: Int32Array;
  private readonly older: Int32Array;
  private readonly changedAt: Float64Array;

  constructor(size: number) {
    this.newer = new Int32Array(size).fill(NONE);
    this.older = new Int32Array(size).fill(NONE);
    this.changedAt = new Float64Array(size);
  }

  /** Says that the host changed now. */
  touch(index: number): void {
    this.version += 1;
    if (this.newest !== index) {
      this.unlink(index);
      this.older[index] = this.newest;
      if (this.newest !== NONE) this.newer[this.newest] = index;
      this.newest = index;
    }
    this.changedAt[index] = this.version;
  }

  /** Visits each host that changed after `version`, latest first. `visit` must not touch. */
  forEachSince(version: number, visit: (index: number) => void): void {
    let index = this.newest;
    while (index !== NONE && (this.changedAt[index] as number) > version) {
      visit(index);
      index = this.older[index] as number;
    }
  }

  private unlink(index: number): void {
    const newer = this.newer[index] as number;
    const older = this.older[index] as number;
    if (newer !== NONE) this.older[newer] = older;
    if (older !== NONE) this.newer[older] = newer;
    this.newer[index] = NONE;
  }
}

const NONE = -1;
