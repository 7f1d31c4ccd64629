import { randomUUID } from 'node:crypto';
import { type Admission, MAX_TIME_LIMIT_MS, MAX_WAIT_MS, NO_ADMISSION } from '../domain/queueing/admission';
import { anEncodedSpec } from '../testing/instances/request-spec';
import { buildRequestCodec } from './conductor';

const requestId = randomUUID();
const WAITS = { ...NO_ADMISSION, waitForCapacityMs: 1 };

function again(admission: Admission | undefined, count = 1) {
  const request = { requestId, requestSpec: anEncodedSpec(), count, name: '', instanceUuids: [], admission };
  return buildRequestCodec.decode(buildRequestCodec.encode(request)).admission;
}

it('keeps what a request says of waiting, and that it says nothing', () => {
  expect(again(undefined)).toBeUndefined();
  expect(again(NO_ADMISSION)).toEqual(NO_ADMISSION);
  const most = { ...WAITS, waitForCapacityMs: MAX_WAIT_MS, timeLimitMs: MAX_TIME_LIMIT_MS, priority: -1_000 };
  for (const alternatesHeld of ['leased', 'reserved'] as const) {
    const all = { ...most, mayPreempt: true, isProtected: true, isRequeued: true, alternatesHeld };
    expect(again(all, 2)).toEqual(all);
  }
});

it.each<[Partial<typeof NO_ADMISSION>, string]>([
  [{ priority: 1_001 }, 'bad_number'],
  [{ priority: -1_001 }, 'bad_number'],
  [{ waitForCapacityMs: MAX_WAIT_MS + 1 }, 'bad_number'],
  [{ timeLimitMs: MAX_TIME_LIMIT_MS + 1 }, 'bad_number'],
  [{ mayPreempt: true }, 'preempts_without_waiting'],
  [{ isRequeued: true }, 'requeued_without_waiting'],
])('refuses %p with a reason', (fields, reason) => {
  expect(() => again({ ...NO_ADMISSION, ...fields })).toThrow(
    expect.objectContaining({ code: 'invalid_argument', reason }),
  );
});
