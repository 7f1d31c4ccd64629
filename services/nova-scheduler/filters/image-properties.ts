import type { HostState } from '../decision/host-state';
import type { CheckHost, HostFilter, Refusal } from './filter';

/**
 * `hw_architecture`, `img_hv_type`, `hw_vm_mode` and `img_hv_requested_version` of the image. Nova compares with the node's list of
 * supported instances, which only its database has; its API tells the hypervisor and the processor, and placement the traits.
 */
export const imagePropertiesFilter: HostFilter = {
  name: 'ImagePropertiesFilter',
  runsOnRebuild: true,
  prepare({ request: { imageProperty } }) {
    const checks: CheckHost[] = [];
    const architecture = imageProperty('hw_architecture');
    const hypervisor = imageProperty('img_hv_type')?.toLowerCase();
    const mode = imageProperty('hw_vm_mode')?.toLowerCase();
    const version = imageProperty('img_hv_requested_version');
    if (architecture !== undefined) checks.push((host) => checkArchitecture(host, architecture));
    if (hypervisor !== undefined) checks.push((host) => checkHypervisor(host, hypervisor));
    if (mode !== undefined) checks.push((host) => checkMode(host, mode));
    if (version !== undefined) checks.push((host) => checkVersion(host, version));
    if (checks.length === 0) return undefined;
    return (host) => {
      for (const check of checks) {
        const refusal = check(host);
        if (refusal !== undefined) return refusal;
      }
      return undefined;
    };
  },
};

function checkArchitecture({ node, traits }: HostState, wanted: string): Refusal {
  if (traits.includes(`HW_ARCH_${wanted.toUpperCase()}`)) return undefined;
  const info = node.capabilities['cpu_info'] as { readonly arch?: unknown } | undefined;
  if (info?.arch === wanted) return undefined;
  const isKnown = info?.arch !== undefined || traits.some((trait) => trait.startsWith('HW_ARCH_'));
  return isKnown ? `its architecture is not ${wanted}` : 'its architecture is not known from API and traits';
}

/** libvirt's nodes say QEMU and run both. */
function checkHypervisor({ node }: HostState, wanted: string): Refusal {
  const here = node.hypervisorType.toLowerCase();
  const isSame = here === wanted || (here === 'qemu' && wanted === 'kvm');
  return isSame ? undefined : `its hypervisor is ${node.hypervisorType}, not ${wanted}`;
}

const MODES: Readonly<Record<string, string>> = {
  qemu: 'hvm',
  kvm: 'hvm',
  fake: 'hvm',
  lxc: 'exe',
  'vmware vcenter server': 'hvm',
};

function checkMode({ node }: HostState, wanted: string): Refusal {
  const mode = MODES[node.hypervisorType.toLowerCase()];
  if (mode === wanted) return undefined;
  return mode === undefined ? "its modes are not known from Nova's API" : `its mode is ${mode}, not ${wanted}`;
}

const PREDICATE = /^\s*(<=|>=|==|!=|<|>)\s*(\d+(?:\.\d+)*)\s*$/;

/** `>=6.2,<8`, against 6002000 for 6.2.0. */
function checkVersion({ node }: HostState, wanted: string): Refusal {
  const isMet = wanted.split(',').every((one) => {
    const [, operator = '', version = ''] = PREDICATE.exec(one) ?? [];
    const compare = COMPARE[operator];
    return compare?.(node.hypervisorVersion, numberOfVersion(version)) === true;
  });
  return isMet ? undefined : `its hypervisor's version ${node.hypervisorVersion} is not ${wanted}`;
}

const COMPARE: Readonly<Record<string, (here: number, asked: number) => boolean>> = {
  '<': (here, asked) => here < asked,
  '<=': (here, asked) => here <= asked,
  '>': (here, asked) => here > asked,
  '>=': (here, asked) => here >= asked,
  '==': (here, asked) => here === asked,
  '!=': (here, asked) => here !== asked,
};

function numberOfVersion(version: string): number {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return major * 1_000_000 + minor * 1_000 + patch;
}
