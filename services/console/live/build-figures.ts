import type { InstanceEvent } from '#libs/contracts/instance';
import type { Clock } from '#libs/domain/clock';
import type { Attempt, InstanceState } from '#libs/domain/instance';
import { lru } from '#libs/runtime/lru';
import { percentile } from '#libs/runtime/percentiles';
import type { BuildRange, BuildRates, RecentBuild, TriedAttempt } from '../api/builds';
import { type BuildCounts, BuildSeries, count } from './build-counts';

/** A state reached within this of an attempt's end was reached by it. */
const CLOSE_MS = 5_000;
const RECENT_BUILDS = 200;
const RECENT_ATTEMPTS = 20;
const MAX_HOSTS = 20_000;
const MAX_UNDER_WAY = 100_000;
/** Limit of the times to ACTIVE for percentiles. */
const MAX_TIMES = 5_000;

/** Build figures from events since the console's start, for the last day. */
export class BuildFigures {
  readonly #series = new BuildSeries();
  readonly #requestedAt = lru<string, number>(MAX_UNDER_WAY);
  readonly #attemptsOf = lru<string, TriedAttempt[]>(MAX_HOSTS);
  readonly #moving = new Map<string, string>();
  #times: { readonly atMs: number; readonly tookMs: number }[] = [];
  #recent: RecentBuild[] = [];

  constructor(private readonly clock: Clock) {}

  take(event: InstanceEvent): void {
    const { instanceUuid: uuid, state, attempts, host, atMs, name } = event;
    this.#noteMove(uuid, state, host);
    if (state === 'scheduling') {
      this.#requestedAt.set(uuid, atMs);
      this.#add((counts) => (counts.requested += 1));
      return;
    }
    const last = attempts.at(-1);
    const ended = state === 'building' ? attempts.at(-2) : last;
    if (ended !== undefined && isNewsOf(ended, event)) this.#noteAttempt(event, ended);
    const requestedAtMs = this.#requestedAt.get(uuid);
    if (requestedAtMs === undefined || (state !== 'active' && state !== 'error')) return;
    this.#requestedAt.delete(uuid);
    const tookMs = Math.max(0, atMs - requestedAtMs);
    if (state === 'active') this.#noteTime(tookMs);
    this.#add((counts) => {
      counts[state] += 1;
      if (attempts.length > 1) counts.retried += 1;
      if (state === 'error') count(counts.faults, event.fault?.reason ?? 'unknown');
    });
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

  rates(range: BuildRange = '10m'): BuildRates {
    const series = this.#series.read(range, this.clock.now());
    const times = this.#times.filter(({ atMs }) => atMs >= series.firstMs).map(({ tookMs }) => tookMs);
    const [p50Ms = 0, p90Ms = 0, p99Ms = 0] = [50, 90, 99].map((share) => percentile(times, share));
    return { ...series, range, timeToActive: { count: times.length, p50Ms, p90Ms, p99Ms } };
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
    if (FAILED.includes(outcome)) this.#add(({ attempts }) => count(attempts, reason === '' ? outcome : reason));
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

  #add(change: (counts: BuildCounts) => void): void {
    this.#series.add(this.clock.now(), change);
  }
}

const FAILED: readonly Attempt['outcome'][] = ['failed', 'refused', 'timed_out', 'not_claimed'];
const MOVING: readonly InstanceState[] = ['resize', 'verify_resize', 'migrating'];

/** True when this event reports an attempt's end: for an instance at rest the attempt is old. */
function isNewsOf({ outcome, endedAtMs }: Attempt, { state, atMs }: InstanceEvent): boolean {
  if (FAILED.includes(outcome)) return state === 'building' || state === 'error';
  return outcome === 'active' && state === 'active' && Math.abs(atMs - (endedAtMs ?? atMs)) < CLOSE_MS;
}
