import type { Write } from '../commands/transaction';

/** Usage records by project key. */
export class UsageRecords {
  readonly #texts = new Map<string, Set<string>>();
  #count = 0;

  of(key: string, most: number): string[] {
    return [...(this.#texts.get(key) ?? [])].sort().slice(0, most);
  }

  countOf(key: string): number {
    return this.#texts.get(key)?.size ?? 0;
  }

  add({ key, text, mostOfProject, most }: Extract<Write, { kind: 'record' }>): void {
    const texts = this.#texts.get(key) ?? new Set();
    if (texts.size >= mostOfProject || this.#count >= most || texts.has(text)) return;
    this.#texts.set(key, texts.add(text));
    this.#count++;
  }

  delete({ key, text }: Extract<Write, { kind: 'unrecord' }>): void {
    const texts = this.#texts.get(key);
    if (!texts?.delete(text)) return;
    this.#count--;
    if (texts.size === 0) this.#texts.delete(key);
  }
}
