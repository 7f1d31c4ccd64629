import { fakeClock } from '../../testing/fake-clock';
import { describeInstanceStore } from '../../testing/instance-store-contract';
import { describeLeaseStore } from '../../testing/lease-contract';
import { memoryInstanceStore } from './instance-store';
import { memoryLeaseStore } from './lease-store';

describeInstanceStore('memory', async () => memoryInstanceStore());

describeLeaseStore('memory', async () => {
  const clock = fakeClock();
  return { store: memoryLeaseStore(clock), pass: (durationMs) => clock.advance(durationMs) };
});
