import { systemClock } from '../../runtime/system';
import { fakeClock } from '../../testing/fake-clock';
import { describeDoubtStore } from '../../testing/instances/doubt-contract';
import { describeInstanceStore } from '../../testing/instances/instance-store-contract';
import { describeLeaseStore } from '../../testing/instances/lease-contract';
import { describeOutbox } from '../../testing/instances/outbox-contract';
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
