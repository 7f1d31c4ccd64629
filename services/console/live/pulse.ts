import type { Client } from '#libs/client/client';
import type { InstanceEvent } from '#libs/contracts/instance';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { PlacementView } from '#libs/placement/port/placement-view';
import type { Log } from '#libs/runtime/log';

/** Changes since the last beat. */
export interface Beat {
  /** Roots of the changed trees; `all` after a resync. */
  readonly roots: ReadonlySet<string> | 'all';
  readonly events: readonly InstanceEvent[];
}

interface PulseParts {
  readonly view: PlacementView;
  readonly client: Pick<Client, 'events'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Minimum interval of notifications to a page; changes in between are combined. */
const PULSE_MS = 200;
const RETRY_MS = 1_000;

/**
 * Combines notifications of the mirror and the bus into a few beats a second: however many changes there are, a page is
 * drawn once for its present state.
 */
export class Pulse {
  readonly #listeners = new Set<(beat: Beat) => void>();
  readonly #closing = new AbortController();
  readonly #listening: Promise<void>;
  readonly #stopMirror: () => void;
  #roots: Set<string> | 'all' = new Set();
  #events: InstanceEvent[] = [];
  #cancelBeat: (() => void) | undefined;

  constructor(private readonly parts: PulseParts) {
    this.#stopMirror = parts.view.onChange((changed) => {
      if (changed === 'all') this.#roots = 'all';
      else if (this.#roots !== 'all') for (const root of changed.roots) this.#roots.add(root);
      this.#schedule();
    });
    this.#listening = this.#listen();
  }

  /** Calls back at each beat. Returns the unsubscription. */
  onBeat(listener: (beat: Beat) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#stopMirror();
    this.#cancelBeat?.();
    await this.#listening;
  }

  async #listen(): Promise<void> {
    const { client, clock, log } = this.parts;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        for await (const event of client.events({}, signal)) {
          this.#events.push(event);
          this.#schedule();
        }
      } catch (thrown) {
        log.info({ event: 'events_lost', error: BerthError.from(thrown) }, 'not listening to events, retrying');
      }
      await sleep(clock, RETRY_MS, signal);
    }
  }

  #schedule(): void {
    this.#cancelBeat ??= this.parts.clock.after(PULSE_MS, () => this.#beat());
  }

  #beat(): void {
    this.#cancelBeat = undefined;
    const beat = { roots: this.#roots, events: this.#events };
    this.#roots = new Set();
    this.#events = [];
    for (const listener of this.#listeners) listener(beat);
  }
}
