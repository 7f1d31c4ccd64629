import { callMethod } from '#libs/bus/typed-calls';
import type { SetQuotaRequest } from '#libs/contracts/messages';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { setQuotaMethod } from '#libs/contracts/quotas';
import { type Random, randomInt } from '#libs/domain/random';
import { confirmed, type Perform, type World } from './common';

/** The tenant whose quota changes; the other has none. */
export const LIMITED_TENANT = 'tenant-b';

/** An operator limits a tenant, perhaps below what it holds, or lifts the limit. */
export function limitsTenant(random: Random): Perform {
  const limits = { VCPU: randomInt(random, 9) - 1, instances: randomInt(random, 6) - 1 };
  return (world) => void setLimits(world, limits);
}

/** A tenant has one instance left, and asks for several at once, each by itself: `build` asks for one. */
export function lastOfQuota(build: (random: Random) => Perform): (random: Random) => Perform {
  return (random) => {
    const builds = Array.from({ length: 4 }, () => build(random));
    return (world) => {
      const { instances = 0 } = world.checker.quotas.held(LIMITED_TENANT);
      const request = { VCPU: -1, instances: instances + 1 };
      void setLimits(world, request).then(() => builds.forEach((perform) => perform(world)));
    };
  };
}

function setLimits({ fleet }: World, limits: SetQuotaRequest['limits']): Promise<boolean> {
  const { bus } = fleet.member('operator');
  const subject = { projectId: LIMITED_TENANT, isDefault: false, version: 0 };
  const request = { ...subject, limits, borrowLimits: {}, cohort: undefined };
  return confirmed(callMethod(bus, RPC_SCHEDULER, setQuotaMethod, request, { timeoutMs: 1_000 }));
}
