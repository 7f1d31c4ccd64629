import { seededRandom } from '../../domain/random';
import { MemoryPlacementStore } from '../../placement/memory/placement-store';
import { openPlacementStore } from '../../placement/open';
import { placementOptions } from '../../placement/options';
import { readConfig } from '../../runtime/config';
import { silentLog } from '../../runtime/log';
import { createMetrics } from '../../runtime/metrics';
import { systemClock } from '../../runtime/system';
import { fakeClock } from '../../testing/fake-clock';
import { describeDoubtStore } from '../../testing/instances/doubt-contract';
import { describeFence } from '../../testing/instances/fence-contract';
import { anInstance, nextVersion } from '../../testing/instances/instance';
import { describeInstanceStore } from '../../testing/instances/instance-store-contract';
import { describeLeaseStore } from '../../testing/instances/lease-contract';
import { describeOutbox } from '../../testing/instances/outbox-contract';
import { openInstanceStore } from '../open';
import { MAX_OUTBOX } from '../store';
import { memoryInstanceStore } from './instance-store';
import { memoryLeaseStore } from './lease-store';

describeInstanceStore('memory', async () => memoryInstanceStore(systemClock()));

describeDoubtStore('memory', async () => memoryInstanceStore(systemClock()));

describeLeaseStore('memory', async () => {
  const clock = fakeClock();
  return { store: memoryLeaseStore(clock), pass: (durationMs) => clock.advance(durationMs) };
});

describeOutbox('memory', async (maxOutbox) => {
  const clock = fakeClock();
  return { store: memoryInstanceStore(clock, maxOutbox), pass: (durationMs) => clock.advance(durationMs) };
});

describeFence('memory', async () => {
  const clock = fakeClock();
  const placement = new MemoryPlacementStore();
  const store = memoryInstanceStore(clock, MAX_OUTBOX, placement);
  return { store, placement, nowMs: () => clock.now(), pass: (durationMs) => clock.advance(durationMs) };
});

it('of a process in memory knows who holds hosts', async () => {
  const clock = fakeClock();
  const around = { clock, random: seededRandom(1), log: silentLog, metrics: createMetrics({}) };
  const config = readConfig(placementOptions, { BERTH_STORE_URL: 'memory:', BERTH_CELL: 'fenced' });
  const placement = await openPlacementStore(config, around);
  const store = await openInstanceStore(config, around);
  const one = anInstance({ state: 'rebuilding', host: 'h1' });
  await store.create(one.requestId, [one]);
  const next = nextVersion(one, { state: 'building', host: 'h2' });
  expect(await store.update(next, { fence: { host: 'h1', epoch: 1 } })).toMatchObject({ isUnfenced: true });
  const fence = { agentRun: 'a fence', serviceHost: 'h1', hosts: ['h1'], leaseMs: 300, atMs: clock.now() };
  const [grant] = await placement.acquireHosts(fence);
  const epoch = grant?.kind === 'granted' ? grant.epoch : 0;
  expect(await store.update(next, { fence: { host: 'h1', epoch } })).toMatchObject({ updated: true });
});
