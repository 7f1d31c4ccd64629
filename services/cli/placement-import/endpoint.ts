import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import { retryWithBackoff } from '#libs/runtime/backoff';
import type { JsonAnswer } from '#libs/runtime/fetch-json';
import { refusal } from '../client/placement-errors';
import { askPlacement, NEWEST_MINOR, type PlacementAddress, type PlacementRequest } from '../client/placement-http';
import type { Tokens } from './tokens';

/** One side of an import: a placement API, asked at a bounded rate and again while it is away. */
export interface Endpoint {
  readonly url: string;
  /** The minor number of the newest microversion that both know. */
  readonly minor: number;
  /** True for Berth's own, which takes generations. */
  readonly isBerth: boolean;
  /** The document at a path; undefined when there is none. @throws BerthError for any other refusal */
  find<T>(path: string): Promise<T | undefined>;
  /** The document at a path. @throws BerthError */
  get<T>(path: string): Promise<T>;
  /** The answer of any status below 500 but 401 and 429. */
  send(request: PlacementRequest): Promise<JsonAnswer>;
}

export interface EndpointSettings extends Omit<PlacementAddress, 'token'> {
  readonly tokens: Tokens;
  readonly perSecond: number;
  readonly random: Random;
  readonly requestId: string;
}

/** Guards of consumers, project and user in answers: OpenStack Rocky. */
const OLDEST_MINOR = 28;
const MAX_TRIES = 6;

/** @throws BerthError `failed_precondition / api_too_old`, and errors of `askPlacement`. */
export async function openEndpoint(settings: EndpointSettings): Promise<Endpoint> {
  const { url, tokens, perSecond, clock, random, interrupted, requestId } = settings;
  const gapMs = 1_000 / perSecond;
  let nextMs = 0;
  const turn = async () => {
    const nowMs = clock.elapsed();
    const atMs = Math.max(nowMs, nextMs);
    nextMs = atMs + gapMs;
    if (atMs > nowMs) await sleep(clock, atMs - nowMs, interrupted);
  };
  const once = async (request: PlacementRequest): Promise<JsonAnswer> => {
    await turn();
    const token = await tokens.token();
    const answer = await askPlacement({ ...settings, token }, { requestId, ...request });
    if (answer.status === 401 && tokens.renew(token)) {
      return askPlacement({ ...settings, token: await tokens.token() }, { requestId, ...request });
    }
    return answer;
  };
  const send = (request: PlacementRequest): Promise<JsonAnswer> => {
    let tries = 0;
    const ask = async () => {
      tries++;
      const answer = await once(request);
      if (answer.status === 429)
        throw new BerthError('unavailable', 'api_busy', `${url} answers 429, too many requests`);
      if (answer.status === 401 || answer.status === 403 || answer.status >= 500) {
        throw refusal(answer.status, answer.body, url);
      }
      return answer;
    };
    const isRetryable = (error: unknown) => isPassing(error) && tries < MAX_TRIES;
    const pauses = { firstMs: 200, maxMs: 5_000, onFailure: () => {} };
    return retryWithBackoff(ask, { clock, random, signal: interrupted, isRetryable, ...pauses });
  };
  const find = async <T>(path: string): Promise<T | undefined> => {
    const { status, body } = await send({ path, minor });
    if (status === 404) return undefined;
    if (status === 200 && typeof body === 'object' && body !== null) return body as T;
    throw refusal(status, body, url);
  };
  const get = async <T>(path: string): Promise<T> => {
    const found = await find<T>(path);
    if (found !== undefined) return found;
    throw refusal(404, undefined, url);
  };

  let minor = 0;
  const { versions: [version] = [] } = await get<{ versions?: { max_version?: string }[] }>('/');
  const newest = Number(/^1\.(\d+)$/.exec(version?.max_version ?? '')?.[1] ?? Number.NaN);
  if (Number.isNaN(newest)) throw refusal(200, undefined, url);
  if (newest < OLDEST_MINOR) {
    const message = `the placement API at ${url} speaks microversions up to 1.${newest}; an import needs 1.${OLDEST_MINOR}`;
    throw new BerthError('failed_precondition', 'api_too_old', message);
  }
  minor = Math.min(newest, NEWEST_MINOR);
  const openApi = await find<{ info?: { title?: string } }>('/openapi.json').catch(() => undefined);
  return { url, minor, isBerth: openApi?.info?.title === 'Berth placement API', find, get, send };
}

/** Nobody answered, or the service says that it will later. */
function isPassing(thrown: unknown): boolean {
  return thrown instanceof BerthError && ['unavailable', 'deadline_exceeded'].includes(thrown.code);
}
