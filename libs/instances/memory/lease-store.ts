import type { Clock } from '../../domain/clock';
import type { LeaseStore } from '../store';

/** Leases among the services of one process. */
export function memoryLeaseStore(clock: Clock): LeaseStore {
  const leases = new Map<string, { holder: string; epoch: number; untilMs: number }>();
  return {
    async acquire(name, holder, ttlMs) {
      const nowMs = clock.elapsed();
      const lease = leases.get(name);
      const isHeld = lease !== undefined && lease.untilMs > nowMs;
      if (isHeld && lease.holder !== holder) return undefined;
      const epoch = isHeld ? lease.epoch : (lease?.epoch ?? 0) + 1;
      leases.set(name, { holder, epoch, untilMs: nowMs + ttlMs });
      return { epoch };
    },
    async release(name, holder) {
      const lease = leases.get(name);
      if (lease?.holder === holder) leases.set(name, { ...lease, untilMs: 0 });
    },
  };
}
