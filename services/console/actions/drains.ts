import type { Client } from '#libs/client/client';
import { drainHost } from '#libs/client/drain/drain-host';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Drain } from '../api/stream';

interface DrainsParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly maxDrains: number;
}

/** Limit of a host's instances that move at once. */
const PARALLEL = 4;
const INSTANCE_TIMEOUT_MS = 600_000;
/** Limit of the finished drains still shown. */
const KEPT = 20;

/**
 * The drains of this console. They end with it, and the remaining instances stay on the host, which stays disabled: a
 * new drain continues the work.
 */
export class Drains {
  readonly #drains = new Map<string, Drain>();
  readonly #stops = new Map<string, AbortController>();
  readonly #running = new Set<Promise<void>>();
  readonly #listeners = new Set<(host: string) => void>();

  constructor(private readonly parts: DrainsParts) {}

  /**
   * Begins to drain a host; resolves when the host is disabled. @throws BerthError as in `drainHost`; `already_exists /
   * draining`.
   */
  async start(host: string, userId: string, reason: string): Promise<void> {
    const { client, clock, maxDrains } = this.parts;
    if (this.isDraining(host)) throw new BerthError('already_exists', 'draining', `${host} is drained already`);
    if (this.#stops.size >= maxDrains) {
      const message = `${maxDrains} hosts are drained (BERTH_CONSOLE_MAX_DRAINS)`;
      throw new BerthError('resource_exhausted', 'too_many_drains', message);
    }
    const stop = new AbortController();
    this.#stops.set(host, stop);
    try {
      await client.setHostEnabled(host, false, reason);
    } catch (thrown) {
      this.#stops.delete(host);
      throw thrown;
    }
    this.#put({ host, userId, startedAtMs: clock.now(), done: 0, all: 0, isOver: false, stays: [] });
    const running = this.#run(host, reason, stop.signal).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Stops a drain; moved instances stay where they are. */
  stop(host: string): void {
    this.#stops.get(host)?.abort();
  }

  isDraining(host: string): boolean {
    return this.#stops.has(host);
  }

  /** Newest first. */
  list(): readonly Drain[] {
    return [...this.#drains.values()].toReversed();
  }

  /** Calls back with the host of each drain that has progressed. Returns the unsubscription. */
  onChange(listener: (host: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    for (const stop of this.#stops.values()) stop.abort();
    await Promise.all(this.#running);
  }

  async #run(host: string, reason: string, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.parts;
    const onProgress = (
      done: number,
      all: number,
      { uuid, name, stays }: { uuid: string; name: string; stays?: string | undefined },
    ) => {
      const before = this.#drains.get(host) as Drain;
      const left = stays === undefined ? [] : [{ uuid, name, reason: stays }];
      this.#put({ ...before, done, all, stays: [...before.stays, ...left] });
    };
    const options = { host, reason, parallel: PARALLEL, timeoutMs: INSTANCE_TIMEOUT_MS };
    let failed: BerthError | undefined;
    try {
      await drainHost({ client, clock, signal, onProgress }, options);
    } catch (thrown) {
      failed = BerthError.from(thrown);
    }
    this.#stops.delete(host);
    const before = this.#drains.get(host) as Drain;
    const why = failed === undefined ? [] : [{ uuid: '', name: '', reason: `${failed.reason}: ${failed.message}` }];
    this.#put({ ...before, isOver: true, stays: [...before.stays, ...why] });
  }

  #put(drain: Drain): void {
    // Moves it to the end, as the newest.
    if (drain.all === 0) this.#drains.delete(drain.host);
    this.#drains.set(drain.host, drain);
    const over = [...this.#drains.values()].filter(({ isOver }) => isOver);
    for (const { host } of over.slice(0, Math.max(0, over.length - KEPT))) this.#drains.delete(host);
    for (const listener of this.#listeners) listener(drain.host);
  }
}
