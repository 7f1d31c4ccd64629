import type { BerthError } from '../../domain/errors';
import type { Delivery } from './delivery';

/** The messages of one subscription in handlers. */
export class RunningHandlers {
  readonly #running = new Set<Delivery>();
  #onIdle: (() => void)[] = [];

  get size(): number {
    return this.#running.size;
  }

  /** Keeps a delivery until its handling, which never rejects, has ended. */
  run(delivery: Delivery, handling: Promise<void>): void {
    this.#running.add(delivery);
    void handling.then(() => {
      this.#running.delete(delivery);
      if (this.#running.size > 0) return;
      for (const resolve of this.#onIdle.splice(0)) resolve();
    });
  }

  /** Resolves when no handler runs. */
  idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  /** Aborts the signals of all handlers. */
  abort(reason: BerthError): void {
    for (const delivery of this.#running) delivery.abort(reason);
  }
}
