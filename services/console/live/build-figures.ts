import { LRUCache } from 'lru-cache';
import type { InstanceEvent } from '#libs/contracts/instance';
import type { Clock } from '#libs/domain/clock';
import type { Attempt, InstanceState } from '#libs/domain/instance';
import { percentile } from '#libs/runtime/percentiles';
import type { BuildRates, RecentBuild, TriedAttempt } from '../api/builds';

const STEP_MS = 5_000;
const STEPS = 120;
const RECENT_BUILDS = 200;
const RECENT_ATTEMPTS = 20;
const MAX_HOSTS = 20_000;
const MAX_UNDER_WAY = 100_000;
/** Limit of the times to ACTIVE for percentiles. */
const MAX_TIMES = 5_000;

interface Bucket {
  readonly startMs: number;
  requested: number;
  active: number;
  error: number;
  retried: number;
  readonly faults: Map<string, number>;
  readonly attempts: Map<string, number>;
}

/** Build figures from events since the console's start, for the last ten minutes. */
export class BuildFigures {
  readonly #buckets: Bucket[] = [];
  readonly #requestedAt = new LRUCache<string, number>({ max: MAX_UNDER_WAY });
  readonly #attemptsOf = new LRUCache<string, TriedAttempt[]>({ max: MAX_HOSTS });
  readonly #moving = new Map<string, string>();
  #times: { readonly atMs: number; readonly tookMs: number }[] = [];
  #recent: RecentBuild[] = [];

  constructor(private readonly clock: Clock) {}

  take(event: InstanceEvent): void {
    const { instanceUuid: uuid, state, attempts, host, atMs, name } = event;
    this.#noteMove(uuid, state, host);
    if (state === 'scheduling') {
      this.#requestedAt.set(uuid, atMs);
      this.#bucket().requested += 1;
      return;
    }
    const last = attempts.at(-1);
    const ended = state === 'building' ? attempts.at(-2) : last;
    if (ended !== undefined && isNewsOf(ended, event)) this.#noteAttempt(event, ended);
    const requestedAtMs = this.#requestedAt.get(uuid);
    if (requestedAtMs === undefined || (state !== 'active' && state !== 'error')) return;
    this.#requestedAt.delete(uuid);
    const bucket = this.#bucket();
    const tookMs = Math.max(0, atMs - requestedAtMs);
    bucket[state] += 1;
    if (attempts.length > 1) bucket.retried += 1;
    if (state === 'active') this.#noteTime(tookMs);
    else count(bucket.faults, event.fault?.reason ?? 'unknown');
    const reason = event.fault === undefined ? '' : `${event.fault.reason}: ${event.fault.message}`;
    const build = {
      uuid,
      name,
      state,
      host,
      projectId: event.projectId,
      atMs,
      tookMs,
      attempts: attempts.length,
      reason,
    };
    this.#recent = [build, ...this.#recent].slice(0, RECENT_BUILDS);
  }

  rates(): BuildRates {
    const nowMs = this.clock.now();
    const firstMs = Math.floor(nowMs / STEP_MS) * STEP_MS - (STEPS - 1) * STEP_MS;
    const byStart = new Map(this.#buckets.map((bucket) => [bucket.startMs, bucket]));
    const steps = Array.from({ length: STEPS }, (_, i) => byStart.get(firstMs + i * STEP_MS));
    const times = this.#times.filter(({ atMs }) => atMs >= firstMs).map(({ tookMs }) => tookMs);
    const within = this.#buckets.filter(({ startMs }) => startMs >= firstMs);
    return {
      stepMs: STEP_MS,
      firstMs,
      requested: steps.map((bucket) => bucket?.requested ?? 0),
      active: steps.map((bucket) => bucket?.active ?? 0),
      error: steps.map((bucket) => bucket?.error ?? 0),
      retried: steps.map((bucket) => bucket?.retried ?? 0),
      timeToActive: {
        count: times.length,
        p50Ms: percentile(times, 50),
        p90Ms: percentile(times, 90),
        p99Ms: percentile(times, 99),
      },
      faults: sumOf(within.map(({ faults }) => faults)),
      failedAttempts: sumOf(within.map(({ attempts }) => attempts)),
    };
  }

  recent(): readonly RecentBuild[] {
    return this.#recent;
  }

  /** The attempts that ended on a host, newest first. */
  attemptsOn(host: string): readonly TriedAttempt[] {
    return this.#attemptsOf.get(host) ?? [];
  }

  /** True when an instance is moving away from a host. */
  isMovingFrom(host: string): boolean {
    return [...this.#moving.values()].includes(host);
  }

  #noteMove(uuid: string, state: InstanceState, host: string): void {
    if (MOVING.includes(state)) {
      // Its source: its host when the move began.
      if (!this.#moving.has(uuid) && this.#moving.size < MAX_UNDER_WAY) this.#moving.set(uuid, host);
    } else this.#moving.delete(uuid);
  }

  #noteAttempt(event: InstanceEvent, { host, outcome, reason, number, endedAtMs }: Attempt): void {
    if (FAILED.includes(outcome)) count(this.#bucket().attempts, reason === '' ? outcome : reason);
    const tried = {
      uuid: event.instanceUuid,
      name: event.name,
      number,
      outcome,
      reason,
      atMs: endedAtMs ?? event.atMs,
    };
    const before = this.#attemptsOf.get(host) ?? [];
    if (before[0]?.uuid === tried.uuid && before[0].number === number && before[0].outcome === outcome) return;
    this.#attemptsOf.set(host, [tried, ...before].slice(0, RECENT_ATTEMPTS));
  }

  #noteTime(tookMs: number): void {
    this.#times.push({ atMs: this.clock.now(), tookMs });
    if (this.#times.length > 2 * MAX_TIMES) this.#times = this.#times.slice(-MAX_TIMES);
  }

  #bucket(): Bucket {
    const startMs = Math.floor(this.clock.now() / STEP_MS) * STEP_MS;
    const last = this.#buckets.at(-1);
    if (last?.startMs === startMs) return last;
    const bucket = { startMs, requested: 0, active: 0, error: 0, retried: 0, faults: new Map(), attempts: new Map() };
    this.#buckets.push(bucket);
    if (this.#buckets.length > STEPS) this.#buckets.shift();
    return bucket;
  }
}

const FAILED: readonly Attempt['outcome'][] = ['failed', 'refused', 'timed_out', 'not_claimed'];
const MOVING: readonly InstanceState[] = ['resize', 'verify_resize', 'migrating'];

/** True when this event reports an attempt's end: for an instance at rest the attempt is old. */
function isNewsOf({ outcome, endedAtMs }: Attempt, { state, atMs }: InstanceEvent): boolean {
  if (FAILED.includes(outcome)) return state === 'building' || state === 'error';
  return outcome === 'active' && state === 'active' && Math.abs(atMs - (endedAtMs ?? atMs)) < STEP_MS;
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function sumOf(all: readonly Map<string, number>[]): { name: string; count: number }[] {
  const sum = new Map<string, number>();
  for (const counts of all) for (const [name, n] of counts) sum.set(name, (sum.get(name) ?? 0) + n);
  return [...sum].map(([name, n]) => ({ name, count: n })).sort((a, b) => b.count - a.count);
}
