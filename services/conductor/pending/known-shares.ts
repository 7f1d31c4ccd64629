import { MAX_PAGE } from '#libs/contracts/limits';
import { listFairSharesMethod } from '#libs/contracts/quotas';
import { BerthError, isRetryable } from '#libs/domain/errors';
import { type FairShares, type ProjectShare, unusedShare } from '#libs/domain/queueing/fair-share';
import type { ConductorContext } from '../context';
import { callScheduler } from '../steps/call-scheduler';

/** Age up to which shares serve the next turns. */
const FRESH_MS = 1_000;
/** Interval of asking again where no scheduler answered, or those who wait take turns. */
const RETRY_MS = 5_000;
const TIMEOUT_MS = 1_000;
/** Limit of the projects that are read. */
const MOST = 100_000;

/**
 * Present and recent use of projects, as the schedulers say it. While none answers the last known shares stay: those who wait are not
 * tried then anyhow.
 */
export class KnownShares {
  #shares: FairShares | undefined;
  #askedAtMs = -Infinity;
  #isLate = true;
  #asking: Promise<void> | undefined;

  /** Undefined where those who wait take turns, and before the first answer. */
  get newest(): FairShares | undefined {
    return this.#shares;
  }

  /** Asks, unless that was done a moment ago. */
  async refresh(c: ConductorContext): Promise<void> {
    if (this.#asking !== undefined) return this.#asking;
    if (c.clock.elapsed() - this.#askedAtMs < (this.#isLate ? RETRY_MS : FRESH_MS)) return;
    this.#askedAtMs = c.clock.elapsed();
    this.#asking = this.#ask(c).finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(c: ConductorContext): Promise<void> {
    try {
      this.#shares = await readShares(c);
      this.#isLate = this.#shares === undefined;
    } catch (thrown) {
      const error = BerthError.from(thrown);
      this.#isLate = true;
      if (!isRetryable(error)) c.log.warn({ event: 'shares_not_read', err: error }, 'fair shares not read');
    }
  }
}

async function readShares(c: ConductorContext): Promise<FairShares | undefined> {
  const projects = new Map<string, ProjectShare>();
  for (let marker = ''; ; ) {
    const request = { projectId: '', marker, limit: MAX_PAGE };
    const page = await callScheduler(c, listFairSharesMethod, request, TIMEOUT_MS);
    if (page.halfLifeMs === 0) return undefined;
    for (const { rank: _rank, ...share } of page.shares) projects.set(share.projectId, share);
    marker = page.shares.at(-1)?.projectId ?? '';
    if (page.shares.length < MAX_PAGE || projects.size >= MOST) {
      const { atMs, halfLifeMs, capacity, defaultWeight } = page;
      return { atMs, halfLifeMs, capacity, projects, unknown: (id) => unusedShare(id, defaultWeight) };
    }
  }
}
