import { deepStrictEqual } from 'node:assert';
import { setTimeout as pass } from 'node:timers/promises';
import { BerthError } from '#libs/domain/errors';
import { inventory } from '#libs/domain/inventory';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { aProvider, aWrite, claim, contentsOf } from '#libs/testing/placement/placement';
import { violationsOf } from '#libs/testing/placement/placement-invariants';

/** Claims, one after the other, eight at a time, whatever happens to the store. */
export class ClaimLoad {
  /** Claim tokens that the store has answered, by consumer. */
  readonly answered = new Map<string, number>();
  /** Times that the store was away. */
  timesAway = 0;
  readonly #stopping = new AbortController();
  #workers: Promise<unknown> = Promise.resolve();

  private constructor(private readonly store: PlacementStore) {}

  static async start(store: PlacementStore): Promise<ClaimLoad> {
    const load = new ClaimLoad(store);
    const host = await aProvider(store, { VCPU: inventory(1_000_000) });
    load.#workers = Promise.all(Array.from({ length: 8 }, () => load.#work(host)));
    load.#workers.catch(() => load.#stopping.abort());
    return load;
  }

  /** Resolves after so many more answers. */
  async answers(count: number): Promise<void> {
    const target = this.answered.size + count;
    const isEnough = async () => {
      while (this.answered.size < target && !this.#stopping.signal.aborted) await pass(5);
    };
    await Promise.race([isEnough(), this.#workers]);
  }

  /**
   * Makes no more; resolves to the consumers whose claims were answered and are not there.
   *
   * @throws AssertionError when what is there breaks an invariant.
   */
  async stop(): Promise<string[]> {
    this.#stopping.abort();
    await this.#workers;
    const contents = await contentsOf(this.store);
    deepStrictEqual(violationsOf(contents), []);
    const tokens = new Map(contents.consumers.map(({ uuid, claimToken }) => [uuid, claimToken]));
    return [...this.answered].filter(([uuid, token]) => tokens.get(uuid) !== token).map(([uuid]) => uuid);
  }

  async #work(host: string): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const write = aWrite({ [host]: { VCPU: 1 } });
      try {
        const result = await claim(this.store, write);
        if (result.kind !== 'committed') throw new Error(`refused: ${JSON.stringify(result)}`);
        this.answered.set(write.uuid, result.claimToken);
      } catch (thrown) {
        if (BerthError.from(thrown).code !== 'unavailable') throw thrown;
        this.timesAway++;
        await pass(20);
      }
    }
  }
}
