import { BerthError } from '../domain/errors';
import type { FlavorStore } from '../instances/flavor-store';
import type { InstanceStore, LeaseStore } from '../instances/store';
import type { Change, PlacementStore } from '../placement/port/placement-store';
import type { History } from './history';
import type { VirtualTime } from './virtual-time';

/** The stores that one server holds: what is lost with it is lost of all. */
export interface Stores {
  readonly placement: PlacementStore;
  readonly instances: InstanceStore;
  readonly leases: LeaseStore;
  readonly flavors: FlavorStore;
}

/** The stores as a server has them. */
export interface ServedStores extends Stores {
  /** Another server goes on with them: what it gives out is beyond all that was given out before. */
  readonly goesOn: (atMs: number) => void;
}

/** An effect on the stores, kept so that it can be done again. */
interface Done {
  readonly atMs: number;
  readonly effect: (stores: ServedStores) => Promise<unknown>;
}

/** The process that asks for an effect, and the time of sending, which may be long ago; for a host's report, the time at which a scheduler heard it. */
export interface Asking {
  readonly name: string;
  readonly atMs: number;
  readonly call: StoreCall;
}

/** A method that was called, and what came of it. */
export interface StoreCall {
  readonly port: keyof Stores;
  readonly name: string;
  readonly args: readonly unknown[];
}

/** A follower of the change stream. */
export interface Follower {
  readonly onChanges: (changes: readonly Change[]) => void;
  readonly onError: (thrown: unknown) => void;
}

/**
 * The store's server: real stores in memory, which do one thing after the other, and every effect on them in order. So it
 * can go back in time, as a fail-over to a replica that lags does, or a restore from a snapshot: empty stores do again
 * what was done until then.
 */
export class StoreServer {
  stores: ServedStores;
  /** Thrown at whoever asks; undefined when all is well. */
  refusal: BerthError | undefined;
  /** Hears of each effect that was done: who asked for it and when, what it was, and what came of it. */
  onWrite: (by: Asking, what: string, result: unknown) => void = () => {};
  /** Likewise, of the method and its arguments. */
  onCall: (call: StoreCall, result: unknown) => void = () => {};
  /** Hears of each time to which the server went back. */
  onWentBack: (toMs: number) => void = () => {};
  #done: Done[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #ending = new AbortController();

  constructor(
    private readonly time: VirtualTime,
    private readonly history: History,
    private readonly openStores: () => ServedStores,
  ) {
    this.stores = openStores();
  }

  /** Reads the stores, once all before it is done. */
  read<T>(effect: (stores: Stores) => Promise<T>): Promise<T> {
    if (this.refusal) return Promise.reject(this.refusal);
    const reading = this.#last.then(() => effect(this.stores));
    this.#last = reading.catch(() => {});
    return reading;
  }

  /** Does something to the stores, once all before it is done. */
  write<T>(by: Asking, what: string, effect: (stores: Stores) => Promise<T>): Promise<T> {
    return this.read(async (stores) => {
      this.#done.push({ atMs: this.time.nowMs, effect });
      const result = await effect(stores);
      this.onWrite(by, what, result);
      this.onCall(by.call, result);
      return result;
    });
  }

  /** Follows the change stream; a server that went back in time ends it. */
  follow(revision: number, { onChanges, onError }: Follower, signal: AbortSignal): void {
    const ending = AbortSignal.any([signal, this.#ending.signal]);
    const gone = () => onError(new BerthError('unavailable', 'store_away', 'the store restarted'));
    this.stores.placement.follow(revision, onChanges, ending).then(gone, onError);
  }

  /**
   * Loses all that was done since a time: everything, when that is the beginning. Whoever asks meanwhile waits; the server
   * that goes on is another one.
   */
  goBackTo(atMs: number): Promise<void> {
    const goingBack = this.#last.then(() => this.#goBackTo(atMs));
    this.#last = goingBack;
    return goingBack;
  }

  async #goBackTo(atMs: number): Promise<void> {
    const kept = this.#done.filter((one) => one.atMs <= atMs);
    const lost = this.#done.length - kept.length;
    const { nowMs } = this.time;
    this.history.note({ atMs: nowMs, from: 'store', to: 'store', what: `forgets its last ${lost} writes` });
    const stores = this.openStores();
    // Each at its time: leases and fences that have run out since held then.
    for (const { atMs: doneAtMs, effect } of kept) {
      this.time.nowMs = doneAtMs;
      await effect(stores).catch(() => {});
    }
    this.time.nowMs = nowMs;
    const goOn = async ({ goesOn }: ServedStores) => goesOn(nowMs);
    await goOn(stores);
    this.stores = stores;
    this.onWentBack(atMs);
    this.#done = [...kept, { atMs: nowMs, effect: goOn }];
    this.close();
    this.#ending = new AbortController();
  }

  /** Ends what follows the change stream. */
  close(): void {
    this.#ending.abort();
  }
}
