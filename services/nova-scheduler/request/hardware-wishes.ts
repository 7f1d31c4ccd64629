import { parseCpuSet } from '#libs/domain/extra-specs/cpu-set';
import { HYPERTHREADING } from '#libs/domain/extra-specs/processors';
import { truthOf } from '#libs/domain/extra-specs/truth';
import type { ImageProperty, NovaRequest } from './nova-request';
import type { ResourceGroups } from './resource-groups';

/** The major release of Nova on the compute nodes: newer ones report traits that older ones do not have. */
export type NovaRelease = number;

/** A wish of flavor or image, the extra spec first: `hw:cpu_policy`, `hw_cpu_policy`. */
export function wishOf(request: NovaRequest, name: string, prefix: 'hw' | 'os' = 'hw'): string | undefined {
  return request.extraSpecs.get(`${prefix}:${name}`) ?? request.imageProperty(`${prefix}_${name}` as ImageProperty);
}

/** Nova's word for true, in extra specs and image properties. */
export function isTrue(value: string | undefined): boolean {
  return value !== undefined && truthOf(value) === true;
}

/** Resources and traits that wishes of flavor and image for hardware mean. */
export function addHardwareWishes(request: NovaRequest, groups: ResourceGroups, release: NovaRelease): void {
  const own = groups.group();
  const needTrait = (trait: string | undefined, since = 0) => {
    if (trait !== undefined && release >= since) own.required.add(trait);
  };
  if (wishOf(request, 'secure_boot', 'os') === 'required') needTrait('COMPUTE_SECURITY_UEFI_SECURE_BOOT');
  const tpmVersion = wishOf(request, 'tpm_version');
  if (tpmVersion !== undefined) {
    needTrait(tpmVersion === '1.2' ? 'COMPUTE_SECURITY_TPM_1_2' : 'COMPUTE_SECURITY_TPM_2_0');
    const isCrb = wishOf(request, 'tpm_model') === 'tpm-crb';
    needTrait(isCrb ? 'COMPUTE_SECURITY_TPM_CRB' : 'COMPUTE_SECURITY_TPM_TIS', 30);
  }
  if (wishOf(request, 'pci_numa_affinity_policy') === 'socket') needTrait('COMPUTE_SOCKET_PCI_NUMA_AFFINITY');
  needTrait(ADDRESS_SPACE[wishOf(request, 'maxphysaddr_mode') ?? ''], 29);
  if (isTrue(request.imageProperty('hw_firmware_stateless'))) needTrait('COMPUTE_SECURITY_STATELESS_FIRMWARE', 30);
  if (isTrue(wishOf(request, 'mem_encryption'))) {
    groups.addResource('MEM_ENCRYPTION_CONTEXT', 1);
    needTrait(MEMORY_ENCRYPTION[wishOf(request, 'mem_encryption_model') ?? 'amd-sev'], 32);
  }
  for (const label of (request.extraSpecs.get('hw:pmem') ?? '').split(',').map((one) => one.trim())) {
    if (label === '') continue;
    const name = `CUSTOM_PMEM_NAMESPACE_${label.toUpperCase().replaceAll(/[^0-9A-Z]+/g, '_')}`;
    groups.addResource(name, (own.resources.get(name) ?? 0) + 1);
  }
}

const ADDRESS_SPACE: Readonly<Record<string, string>> = {
  passthrough: 'COMPUTE_ADDRESS_SPACE_PASSTHROUGH',
  emulate: 'COMPUTE_ADDRESS_SPACE_EMULATED',
};

const MEMORY_ENCRYPTION: Readonly<Record<string, string>> = {
  'amd-sev': 'HW_CPU_X86_AMD_SEV',
  'amd-sev-es': 'HW_CPU_X86_AMD_SEV_ES',
  'amd-sev-snp': 'HW_CPU_X86_AMD_SEV_SNP',
};

/** True when the request wants processors of its own: hosts without PCPU may meet it in VCPU. */
export function wantsPinning(request: NovaRequest): boolean {
  return wishOf(request, 'cpu_policy') === 'dedicated';
}

/** `hw:cpu_policy` and its kind, as amounts of PCPU and VCPU and the trait of hyperthreading. */
export function addPinning(request: NovaRequest, groups: ResourceGroups): void {
  const vcpus = request.spec.flavor?.vcpus ?? 0;
  const policy = wishOf(request, 'cpu_policy');
  const isIsolated = request.extraSpecs.get('hw:emulator_threads_policy') === 'isolate';
  let pcpus: number | undefined;
  if (policy === 'dedicated') pcpus = vcpus;
  if (policy === 'mixed') {
    const mask = request.extraSpecs.get('hw:cpu_dedicated_mask') ?? realtimeMask(request);
    pcpus = mask === undefined ? 0 : (parseCpuSet(mask, vcpus)?.size ?? 0);
    groups.addResource('VCPU', vcpus - pcpus);
  }
  if (pcpus !== undefined) groups.addResource('PCPU', pcpus + (isIsolated ? 1 : 0));
  const threads = wishOf(request, 'cpu_thread_policy');
  if (threads === 'isolate') groups.group().forbidden.add(HYPERTHREADING);
  if (threads === 'require') groups.group().required.add(HYPERTHREADING);
}

function realtimeMask(request: NovaRequest): string | undefined {
  if (!isTrue(request.extraSpecs.get('hw:cpu_realtime'))) return undefined;
  return request.imageProperty('hw_cpu_realtime_mask') ?? request.extraSpecs.get('hw:cpu_realtime_mask');
}
