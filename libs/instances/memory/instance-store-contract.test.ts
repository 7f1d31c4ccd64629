import { fakeClock } from '../../testing/fake-clock';
import { describeInstanceStore } from '../../testing/instances/instance-store-contract';
import { describeLeaseStore } from '../../testing/instances/lease-contract';
import { memoryInstanceStore } from './instance-store';
import { memoryLeaseStore } from './lease-store';

describeInstanceStore('memory', async () => memoryInstanceStore());

describeLeaseStore('memory', async () => {
  const clock = fakeClock();
  return { store: memoryLeaseStore(clock), pass: (durationMs) => clock.advance(durationMs) };
});
