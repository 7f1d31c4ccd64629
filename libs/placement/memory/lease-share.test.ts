import { randomUUID } from 'node:crypto';
import { MAX_LEASES, type PlaceLease } from '../../domain/queueing/place-lease';
import { projectShare } from '../../domain/quotas/project-share';
import { MemoryPlacementStore } from './placement-store';

const aLease = (projectId: string): PlaceLease => {
  return { kind: 'alternates', consumerUuid: randomUUID(), projectId, priority: 0, untilMs: 1, places: [] };
};

it('keeps of one project its share of leases, and those of others', async () => {
  const store = new MemoryPlacementStore();
  const write = (lease: PlaceLease) => store.commit({ kind: 'write_lease', lease, atMs: 0 });
  const most = projectShare(MAX_LEASES);
  const one = aLease('greedy');
  await write(one);
  for (let n = 1; n < most; n++) await write(aLease('greedy'));
  expect(await write(aLease('greedy'))).toEqual({ kind: 'full', subject: 'lease', most });
  expect(await write(one)).toMatchObject({ kind: 'committed' });
  expect(await write(aLease('other'))).toMatchObject({ kind: 'committed' });
  await store.commit({ kind: 'end_leases', consumerUuids: [one.consumerUuid], atMs: 0 });
  expect(await write(aLease('greedy'))).toMatchObject({ kind: 'committed' });
});
