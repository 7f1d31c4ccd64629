/** Few enough that a newcomer waits for milliseconds, and many enough that the store's commits, one a tick, stay large. */
const STARTS_PER_TICK = 32;

/**
 * Starts a bounded number of requests in each tick. Those that wait are started in turns: address by address, and of an address
 * connection by connection, so that hundreds of connections that send all that they may delay the single request of another address by
 * a tick, and that of another connection of theirs by one request of each.
 */
export class FairTurns {
  /** Addresses, and connections of each, in order of their next turn. */
  readonly #waiting = new Map<string, Map<object, (() => void)[]>>();
  #startedInTick = 0;

  take(address: string, connection: object, start: () => void): void {
    if (this.#waiting.size === 0 && this.#startedInTick < STARTS_PER_TICK) return this.#start(start);
    const connections = this.#waiting.get(address) ?? new Map<object, (() => void)[]>();
    const starts = connections.get(connection) ?? [];
    starts.push(start);
    connections.set(connection, starts);
    this.#waiting.set(address, connections);
  }

  #start(start: () => void): void {
    if (++this.#startedInTick === 1) setImmediate(() => this.#beginTick());
    start();
  }

  #beginTick(): void {
    this.#startedInTick = 0;
    while (this.#startedInTick < STARTS_PER_TICK) {
      const next = this.#next();
      if (next === undefined) return;
      this.#start(next);
    }
  }

  #next(): (() => void) | undefined {
    for (const [address, connections] of this.#waiting) {
      for (const [connection, starts] of connections) {
        const start = starts.shift();
        // Last in turn, or gone.
        connections.delete(connection);
        this.#waiting.delete(address);
        if (starts.length > 0) connections.set(connection, starts);
        if (connections.size > 0) this.#waiting.set(address, connections);
        return start;
      }
    }
    return undefined;
  }
}
