import type { BuildOptions } from '#libs/client/client';
import type { Resources } from '#libs/domain/inventory';
import { type Random, randomInt } from '#libs/domain/random';

/** The flavors of the demo's instances. */
const FLAVORS: readonly Resources[] = [
  { VCPU: 1, MEMORY_MB: 1024, DISK_GB: 10 },
  { VCPU: 1, MEMORY_MB: 2048, DISK_GB: 10 },
  { VCPU: 2, MEMORY_MB: 4096, DISK_GB: 20 },
  { VCPU: 4, MEMORY_MB: 8192, DISK_GB: 40 },
];
const MEAN_VCPUS = 2;

/** Single instances of mixed flavors. */
export function demoRequests(random: Random, builds: number): BuildOptions[] {
  return Array.from({ length: builds }, (_, i) => {
    const flavor = FLAVORS[randomInt(random, FLAVORS.length)] ?? {};
    const name = `demo-${i + 1}`;
    return { ...requestFor(name, flavor, 'demo'), requestId: random.uuid(), instanceUuids: [random.uuid()] };
  });
}

/** A request for one instance with resources only. */
export function requestFor(name: string, resources: Resources, projectId: string): BuildOptions {
  return { spec: { resources, projectId, userId: 'cli' }, name };
}

/** Hosts large enough for all builds: failures must come from the driver, not from a full fleet. */
export function demoShape(builds: number, hosts: number): Resources {
  const vcpus = Math.max(16, Math.ceil((builds / hosts) * MEAN_VCPUS * 1.6));
  return { VCPU: vcpus, MEMORY_MB: vcpus * 2048, DISK_GB: vcpus * 12 };
}
