import { callMethod } from '#libs/bus/typed-calls';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import { type SetQuotaRequest, setQuotaMethod } from '#libs/contracts/quotas';
import { RECLAIM_LIMIT } from '#libs/domain/queueing/admission';
import { UNLIMITED } from '#libs/domain/quotas/quota';
import { type Random, randomInt } from '#libs/domain/random';
import { confirmed, type Perform, pick, type World } from './common';

/** The tenant whose quota changes alone; the other has one only within a cohort. */
export const LIMITED_TENANT = 'tenant-b';
const TENANTS = ['tenant-a', LIMITED_TENANT] as const;
const COHORT = 'tenants';

/** An operator limits a tenant, perhaps below what it holds, or lifts the limit. */
export function limitsTenant(random: Random): Perform {
  const limits = { VCPU: randomInt(random, 9) - 1, instances: randomInt(random, 6) - 1 };
  return (world) => void setQuota(world, LIMITED_TENANT, { limits });
}

/** A tenant has one instance left of its quota, and requests several concurrently. `build` requests one. */
export function lastOfQuota(build: (random: Random) => Perform): (random: Random) => Perform {
  return (random) => {
    const builds = Array.from({ length: 4 }, () => build(random));
    return (world) => {
      const { instances = 0 } = world.checker.quotas.held(LIMITED_TENANT);
      const limits = { VCPU: UNLIMITED, instances: instances + 1 };
      void setQuota(world, LIMITED_TENANT, { limits }).then(() => builds.forEach((perform) => perform(world)));
    };
  };
}

/**
 * Two tenants lend each other their unused quota, perhaps not all of it, and may borrow a limited amount or everything; then both request
 * several instances concurrently. One may leave the cohort while it is borrowing. `build` requests for a tenant.
 */
export function lendEachOther(build: (random: Random, who: string) => Perform): (random: Random) => Perform {
  return (random) => {
    const terms = TENANTS.map((projectId) => ({ projectId, ...termsOf(random) }));
    const builds = Array.from({ length: 6 }, (_, n) => build(random, TENANTS[n % 2] as string));
    const leaver = random.next() < 0.3 ? pick(random, TENANTS) : undefined;
    const leavesAfterMs = 2_000 + random.next() * 10_000;
    return (world) => {
      const set = terms.map(({ projectId, spare, borrowLimits, lendLimits, gives }) => {
        const limits = { VCPU: (world.checker.quotas.held(projectId)['VCPU'] ?? 0) + spare, [RECLAIM_LIMIT]: gives };
        return setQuota(world, projectId, { limits, borrowLimits, lendLimits, cohort: COHORT });
      });
      void Promise.all(set).then(() => builds.forEach((perform) => perform(world)));
      if (leaver) world.fleet.later(leavesAfterMs, () => void setQuota(world, leaver, { cohort: '' }));
    };
  };
}

function termsOf(random: Random) {
  return {
    /** VCPUs of its own limit above its present use. */
    spare: randomInt(random, 4),
    borrowLimits: { VCPU: random.next() < 0.6 ? randomInt(random, 3) : UNLIMITED },
    lendLimits: { VCPU: random.next() < 0.3 ? randomInt(random, 3) : 1_000 },
    /** The highest priority of borrowed instances that the lender may reclaim. */
    gives: randomInt(random, 5),
  };
}

function setQuota({ fleet }: World, projectId: string, terms: Partial<SetQuotaRequest>): Promise<boolean> {
  const { bus } = fleet.member('operator');
  const request = {
    projectId,
    isDefault: false,
    version: 0,
    limits: {},
    borrowLimits: {},
    cohort: undefined,
    ...terms,
  };
  return confirmed(callMethod({ bus, queue: RPC_SCHEDULER }, setQuotaMethod, request, { timeoutMs: 1_000 }));
}
