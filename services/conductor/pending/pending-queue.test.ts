import { NO_ADMISSION } from '#libs/domain/queueing/admission';
import { unusedShare } from '#libs/domain/queueing/fair-share';
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

it('orders ten thousand of a thousand projects by their shares in a moment, by the amounts of all their instances', () => {
  const queue = new PendingQueue(memoryInstanceStore(clock), clock);
  const spec = anEncodedSpec({ resources: { VCPU: 2 } });
  for (let n = 0; n < 10_000; n++) {
    const admission = { ...NO_ADMISSION, waitForCapacityMs: 1 };
    queue.note(
      anInstance({ state: 'pending', admission, projectId: `p${n % 1_000}`, requestSpec: spec, createdAtMs: n }),
    );
  }
  const projects = Array.from({ length: 1_000 }, (_, n) => {
    return [`p${n}`, { ...unusedShare(`p${n}`), lately: (999 - n) / 1_000, gainedAtMs: 10_000 }] as const;
  });
  const shares = { atMs: 10_000, halfLifeMs: 1_000, capacity: { VCPU: 20_000 }, unknown: unusedShare };
  const startedAtMs = performance.now();
  queue.weigh({ ...shares, projects: new Map(projects) });
  const requests = queue.requests();
  expect(performance.now() - startedAtMs).toBeLessThan(5_000);
  expect(requests).toHaveLength(10_000);
  // A request is a ten thousandth of the fleet: all ten of one project go before the next, which used a thousandth more.
  expect(requests.slice(0, 12).map(({ projectId }) => projectId)).toEqual([...Array(10).fill('p999'), 'p998', 'p998']);
  expect(requests.at(-1)?.projectId).toBe('p0');
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
