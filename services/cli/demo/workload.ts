import type { BuildRequest } from '#libs/contracts/messages';
import { requestSpecCodec } from '#libs/contracts/request-spec';
import type { Resources } from '#libs/domain/inventory';
import { type Random, randomInt } from '#libs/domain/random';
import { type RequestSpec, requestSpec } from '#libs/domain/request-spec';

/** The flavors of the demo's instances. */
const FLAVORS: readonly Resources[] = [
  { VCPU: 1, MEMORY_MB: 1024, DISK_GB: 10 },
  { VCPU: 1, MEMORY_MB: 2048, DISK_GB: 10 },
  { VCPU: 2, MEMORY_MB: 4096, DISK_GB: 20 },
  { VCPU: 4, MEMORY_MB: 8192, DISK_GB: 40 },
];
const MEAN_VCPUS = 2;

/** Single instances of mixed flavors. */
export function demoRequests(random: Random, builds: number): BuildRequest[] {
  return Array.from({ length: builds }, (_, i) => ({
    requestId: random.uuid(),
    requestSpec: requestSpecCodec.encode(specOf(FLAVORS[randomInt(random, FLAVORS.length)] ?? {}, 'demo')),
    count: 1,
    name: `demo-${i + 1}`,
    instanceUuids: [random.uuid()],
  }));
}

/** Hosts large enough for all builds: failures must come from the driver, not from a full fleet. */
export function demoShape(builds: number, hosts: number): Resources {
  const vcpus = Math.max(16, Math.ceil((builds / hosts) * MEAN_VCPUS * 1.6));
  return { VCPU: vcpus, MEMORY_MB: vcpus * 2048, DISK_GB: vcpus * 12 };
}

/** A request spec with resources only. */
export function specOf(resources: Resources, projectId: string): RequestSpec {
  return requestSpec(resources, { projectId, userId: 'cli' });
}
