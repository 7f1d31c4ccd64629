import { STATUS_CODES } from 'node:http';
import * as fc from 'fast-check';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { type Log, silentLog } from '#libs/runtime/log';
import type { Answered } from './testing/answered';
import { type Api, openApi } from './testing/api';
import { requests, shown, type WireRequest } from './testing/arbitrary-request';
import { beginFuzz } from './testing/fuzzed-state';
import { errorOf } from './testing/state';

const ANSWER_LIMIT_MS = 30_000;
/** An answer may have 100 000 candidates, which take too long to write in a fuzz test. */
const SETTINGS = { BERTH_PLACEMENT_MAX_CANDIDATES: '1000' };

it('answers whatever comes with what was asked, or says why not and has changed nothing', async () => {
  let requestCount = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(requests, { minLength: 1, maxLength: 100, size: 'max' }), async (list) => {
      const store = new MemoryPlacementStore();
      const defects: string[] = [];
      const api = await openApi(store, SETTINGS, recording(defects));
      try {
        await beginFuzz(api);
        for (const request of list) {
          requestCount++;
          const before = await store.revision();
          const answered = await sent(api, request);
          const hasChanged = (await store.revision()) !== before;
          const problem = problemOf(request, answered, hasChanged);
          if (problem !== undefined) throw new Error(told(problem, request, answered, defects));
        }
      } finally {
        await api.close();
      }
    }),
    { seed: 20_261_121, numRuns: 30 },
  );
  // Otherwise the fuzz proves nothing.
  expect(requestCount).toBeGreaterThan(300);
});

async function sent(api: Api, { method, path, headers, body }: WireRequest): Promise<Answered> {
  let timer: NodeJS.Timeout | undefined;
  const hung = new Promise<Answered>((resolve) => {
    timer = setTimeout(() => resolve({ status: 0, headers: {}, text: 'no answer', body: undefined }), ANSWER_LIMIT_MS);
  });
  try {
    return await Promise.race([api.send(method, path, body, { version: null, as: null, headers }), hung]);
  } finally {
    clearTimeout(timer);
  }
}

/** The defect of an answer; undefined for a correct one. */
function problemOf(request: WireRequest, answered: Answered, hasChanged: boolean): string | undefined {
  const { status } = answered;
  if (status === 0) return 'it hangs';
  if (status >= 500) return 'it fails';
  if (hasChanged && (status >= 400 || request.method === 'GET')) return 'it changed the state';
  if (answered.headers['x-openstack-request-id'] === undefined) return 'its answer has no request id';
  return status >= 400 ? problemOfError(request, answered) : problemOfSuccess(answered);
}

function problemOfSuccess({ status, headers, text, body }: Answered): string | undefined {
  if (![200, 201, 204].includes(status)) return `it is answered ${status}`;
  if (text === '') return headers['content-type'] === undefined ? undefined : 'nothing has a content type';
  if (headers['content-type'] !== 'application/json') return 'the answer is of another type';
  return body === undefined ? 'the answer is not JSON' : undefined;
}

function problemOfError(request: WireRequest, answered: Answered): string | undefined {
  const { status, headers, text } = answered;
  if (request.method === 'HEAD') return text === '' ? undefined : 'HEAD has a body';
  const type = headers['content-type'];
  if (type !== 'application/json') {
    const isForPeople = type?.startsWith('text/') && (request.headers['accept'] ?? '') !== '';
    return isForPeople && text.includes(`${status} ${STATUS_CODES[status]}`) ? undefined : 'the error is not readable';
  }
  const error = errorOf(answered);
  const [, version] = /1\.(\d+)$/.exec(headers['openstack-api-version'] ?? '') ?? [];
  if (error.status !== status || error.title !== STATUS_CODES[status]) return 'the error is not of its status';
  if (error.request_id !== headers['x-openstack-request-id']) return 'the error is of another request';
  if (typeof error.detail !== 'string') return 'the error has no detail';
  return Number(version ?? 0) >= 23 === (error.code !== undefined) ? undefined : 'the error code is not of its version';
}

function told(problem: string, request: WireRequest, { status, text }: Answered, defects: readonly string[]): string {
  const lines = [`${problem}:`, shown(request), `answered ${status} ${text.slice(0, 600)}`, ...defects.slice(-1)];
  return lines.join('\n  ');
}

/** Collects the service's own reports of defects. */
function recording(defects: string[]): Log {
  return {
    ...silentLog,
    error(fields) {
      const { error } = fields as { error?: Error };
      defects.push(String((error?.cause instanceof Error ? error.cause : error)?.stack));
    },
  };
}
