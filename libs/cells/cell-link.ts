import type { Bus } from '../bus/port';
import { BerthError } from '../domain/errors';
import { retryWithBackoff } from '../runtime/backoff';
import type { RuntimeDeps } from '../runtime/service';

const BACKOFF = { firstMs: 200, maxMs: 5_000 };

/**
 * The top's connection to one cell. A cell whose broker is away holds up neither the start of the top nor any other cell: it is
 * tried in the background until it is there, and from then on its bus reconnects by itself.
 */
export class CellLink {
  #bus: Bus | undefined;
  #lastError: BerthError | undefined;
  readonly #closing = new AbortController();
  readonly #opening: Promise<void>;

  /** @param onOpen  what the top wants of the cell's bus, once it is open; when that fails it is tried again */
  constructor(
    readonly cell: string,
    open: (signal: AbortSignal) => Promise<Bus>,
    around: RuntimeDeps,
    onOpen: (bus: Bus) => Promise<void> = async () => {},
  ) {
    const { clock, random, log } = around;
    const connect = async () => {
      this.#bus ??= await open(this.#closing.signal);
      await onOpen(this.#bus);
    };
    const retry = {
      ...BACKOFF,
      clock,
      random,
      signal: this.#closing.signal,
      onFailure: (error: unknown) => {
        this.#lastError = BerthError.from(error);
        log.warn({ event: 'cell_unreachable', cell, err: error }, `cell ${cell} is unreachable, retrying`);
      },
    };
    this.#opening = retryWithBackoff(connect, retry).then(
      () => {
        this.#lastError = undefined;
      },
      (error: unknown) => {
        this.#lastError = BerthError.from(error);
      },
    );
  }

  /** Why it can not be used now; '' when it can. */
  get problem(): string {
    if (this.#lastError) return this.#lastError.message;
    if (this.#bus === undefined) return 'not connected yet';
    return this.#bus.isConnected() ? '' : 'its broker is away';
  }

  /** @throws BerthError `unavailable / cell_unreachable`. */
  get bus(): Bus {
    if (this.#bus?.isConnected()) return this.#bus;
    throw cellUnreachable(this.cell, this.problem);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    // A link that still waits for its broker has nothing to close.
    if (this.#bus !== undefined) await this.#opening;
    await this.#bus?.close();
  }
}

export function cellUnreachable(cell: string, problem: string): BerthError {
  return new BerthError('unavailable', 'cell_unreachable', `cell ${cell} is unreachable: ${problem}`);
}
