/** A set of hosts by index, one bit each: asking 100,000 hosts whether they have a trait touches 12 KiB. */
export class HostSet {
  private readonly words: Uint32Array;

  /** `size` bounds the indexes; a power of two of at least 32, or 0 for a set that stays empty. */
  constructor(size: number) {
    this.words = new Uint32Array(size >>> 5);
  }

  has(index: number): boolean {
    return (((this.words[index >>> 5] ?? 0) >>> (index & 31)) & 1) === 1;
  }

  add(index: number): void {
    const word = index >>> 5;
    this.words[word] = (this.words[word] as number) | (1 << (index & 31));
  }

  delete(index: number): void {
    const word = index >>> 5;
    this.words[word] = (this.words[word] as number) & ~(1 << (index & 31));
  }
}
