import { randomUUID } from 'node:crypto';
import limitConcurrency from 'p-limit';
import type { Bus } from '#libs/bus/port';
import { callMethod } from '#libs/bus/typed-calls';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { selectDestinationsMethod } from '#libs/contracts/selection';
import { sleep } from '#libs/domain/clock';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { systemClock } from '#libs/runtime/system';
import { metricsAt, sumOf } from '../berth-process';

const RELEASES_AT_ONCE = 128;
const READ_CHUNK = 1_000;
const clock = systemClock();

/**
 * Selects destinations that nobody builds, and releases their claims.
 *
 * The naive way is to leave the claims: then, thirty seconds later, each host's report lacks its claimed instances, and
 * schedulers and conductors are busy with that, unlike on a fleet whose selects are built.
 */
export class Selects {
  #claimed: string[] = [];

  constructor(
    private readonly bus: Bus,
    private readonly store: PlacementStore,
    /** Encoded. */
    private readonly requestSpec: Uint8Array,
  ) {}

  /** One instance, with two alternates. */
  async one(requestId: string = randomUUID()): Promise<void> {
    const uuid = randomUUID();
    const request = { requestId, requestSpec: this.requestSpec, instanceUuids: [uuid], numAlternates: 2 };
    const options = { timeoutMs: 30_000 };
    const { destinations } = await callMethod(
      { bus: this.bus, queue: RPC_SCHEDULER },
      selectDestinationsMethod,
      request,
      options,
    );
    if (destinations.length === 0) throw new Error('no valid host: the fleet is too small for this benchmark');
    this.#claimed.push(uuid);
  }

  /** Resolves when the scheduler with this operations port has seen the releases. */
  async releaseAll(operationsPort: number): Promise<void> {
    const claimed = this.#claimed;
    this.#claimed = [];
    const takeTurn = limitConcurrency(RELEASES_AT_ONCE);
    for (let from = 0; from < claimed.length; from += READ_CHUNK) {
      const consumers = await this.store.consumers(claimed.slice(from, from + READ_CHUNK));
      const releases = consumers.map(({ uuid: consumerUuid, claimToken }) =>
        takeTurn(() => this.store.commit({ kind: 'release_claim', atMs: clock.now(), consumerUuid, claimToken })),
      );
      await Promise.all(releases);
    }
    const revision = await this.store.revision();
    const seen = async () => sumOf(await metricsAt(`127.0.0.1:${operationsPort}`), 'berth_scheduler_mirror_revision');
    while ((await seen()) < revision) await sleep(clock, 100);
  }
}
