import { NO_ADMISSION } from '#libs/domain/queueing/admission';
import { memoryInstanceStore } from '#libs/instances/memory/instance-store';
import { fakeClock } from '#libs/testing/fake-clock';
import { anInstance, nextVersion } from '#libs/testing/instances/instance';
import { anEncodedSpec } from '#libs/testing/instances/request-spec';
import { expectedTimes } from './expected-times';
import { PendingQueue } from './pending-queue';

const clock = fakeClock();

it('reads only the records of those that are new, and forgets those that are gone', async () => {
  const store = memoryInstanceStore(clock);
  const read: number[] = [];
  const counted = { ...store, get: (uuids: readonly string[]) => (read.push(uuids.length), store.get(uuids)) };
  const queue = new PendingQueue(counted, clock);
  const first = anInstance({ state: 'scheduling', dueAtMs: 1 });
  await store.create(first.requestId, [first]);
  const waiting = nextVersion(first, { state: 'pending' });
  await store.update(waiting);
  await queue.refresh();
  await queue.refresh();
  expect([read, queue.requests().length]).toEqual([[1], 1]);
  await store.update(nextVersion(waiting, { state: 'building', host: 'h1' }));
  await queue.refresh();
  expect(queue.requests()).toEqual([]);
});

it('tells in a moment the order of ten thousand, which are of few shapes', async () => {
  const store = memoryInstanceStore(clock);
  const queue = new PendingQueue(store, clock);
  const shapes = [1, 2, 4].map((VCPU) => anEncodedSpec({ resources: { VCPU } }));
  for (let n = 0; n < 10_000; n++) {
    const admission = { ...NO_ADMISSION, priority: n % 5, waitForCapacityMs: 1 };
    const fields = { projectId: `p${n % 50}`, requestSpec: shapes[n % 3] as Uint8Array, createdAtMs: n };
    queue.note(anInstance({ state: 'pending', admission, ...fields }));
  }
  const requests = queue.requests();
  expect(requests).toHaveLength(10_000);
  expect(new Set(requests.map(({ shape }) => shape)).size).toBe(3);
  expect(requests[0]?.priority).toBe(4);
  expect(new Set(requests.slice(0, 10).map(({ projectId }) => projectId)).size).toBe(10);
});

it('expects room when the time limits of those who hold as much end, each for one who waits', () => {
  const queue = new PendingQueue(memoryInstanceStore(clock), clock);
  const specOf = (VCPU: number) => anEncodedSpec({ resources: { VCPU } });
  const waiting = [2, 2, 1].map((vcpus, n) =>
    anInstance({ state: 'pending', requestSpec: specOf(vcpus), createdAtMs: n }),
  );
  for (const one of waiting) queue.note(one);
  const ends = (vcpus: number, endsAtMs: number) =>
    anInstance({ state: 'active', requestSpec: specOf(vcpus), endsAtMs });
  const times = expectedTimes(queue.requests(), [ends(1, 10), ends(4, 20), anInstance({ state: 'building' })]);
  expect(waiting.map(({ requestId }) => times.get(requestId))).toEqual([20, undefined, 10]);
});
