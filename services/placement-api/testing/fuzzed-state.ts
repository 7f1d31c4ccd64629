import type { Api } from './api';
import { aProvider, consumerBody, must } from './state';

/* The state before the fuzz, and the names by which its requests find it. */

const uuid = (digit: number) => `${String(digit).repeat(8)}-0000-4000-8000-000000000000`;

export const PROVIDERS = [uuid(1), uuid(2), uuid(3), uuid(4)] as const;
export const CONSUMERS = [uuid(5), uuid(6)] as const;
export const AGGREGATES = [uuid(7), uuid(8)] as const;
export const UUIDS = [...PROVIDERS, ...CONSUMERS, ...AGGREGATES] as const;
export const CUSTOM_NAMES = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_NEW'] as const;
export const CLASSES = ['VCPU', 'MEMORY_MB', 'DISK_GB', ...CUSTOM_NAMES] as const;
export const TRAITS = ['HW_CPU_X86_VMX', 'MISC_SHARES_VIA_AGGREGATE', ...CUSTOM_NAMES] as const;

/** A tree, a provider that shares with it, an empty one, and two consumers. */
export async function beginFuzz(api: Api): Promise<void> {
  const [root, child, sharing, bare] = PROVIDERS;
  const [one, two] = CONSUMERS;
  const aggregates = [AGGREGATES[0]];
  await aProvider(api, { uuid: root, inventories: { VCPU: 64, MEMORY_MB: 4096 }, traits: ['CUSTOM_A'], aggregates });
  await aProvider(api, {
    uuid: child,
    parent: root,
    inventories: { CUSTOM_A: 8, VCPU: 16 },
    traits: ['HW_CPU_X86_VMX'],
  });
  const traits = ['MISC_SHARES_VIA_AGGREGATE', 'CUSTOM_B'];
  await aProvider(api, { uuid: sharing, inventories: { DISK_GB: 1000, CUSTOM_B: 4 }, traits, aggregates });
  await aProvider(api, { uuid: bare });
  await must(api.put(`/allocations/${one}`, consumerBody({ [root]: { VCPU: 1 }, [sharing]: { DISK_GB: 1 } })));
  await must(api.put(`/allocations/${two}`, consumerBody({ [child]: { CUSTOM_A: 1 } })));
}
