/** Ids of messages seen lately; beyond a number of them the oldest is forgotten. */
export class SeenIds {
  readonly #ids = new Set<string>();

  constructor(private readonly most: number) {}

  /** Notes an id; false when it was seen before. */
  add(id: string): boolean {
    if (this.#ids.has(id)) return false;
    this.#ids.add(id);
    if (this.#ids.size > this.most) this.#ids.delete(this.#ids.values().next().value as string);
    return true;
  }
}
