import type { Resources } from '../inventory';
import type { RequestGroup } from '../request-spec';
import type { HardwareWishes } from './image-wishes';
import type { ExtraSpecError, ParsedExtraSpecs } from './parse';
import type { Topology } from './topology';

/** Nearness of an instance's devices to its NUMA nodes: Nova's `hw:pci_numa_affinity_policy`. */
export interface DeviceAffinity {
  /**
   * `required`: each device is below one of the instance's nodes. `legacy`: there, or below no NUMA node at all.
   * `preferred`: there, else anywhere.
   */
  readonly policy: AffinityPolicy;
  /** Suffixes of the groups that are its NUMA nodes. */
  readonly nodes: readonly string[];
  /** Suffixes of the groups of devices. Requests of devices by their attributes are bound as well. */
  readonly groups: readonly string[];
}

export type AffinityPolicy = (typeof POLICIES)[number];
const POLICIES = ['required', 'preferred', 'legacy'] as const;

export const AFFINITY = 'pci_numa_affinity_policy';

/** @throws BerthError `invalid_argument / bad_extra_spec`. */
export function affinityPolicy({ hardware, keyOf }: HardwareWishes, error: ExtraSpecError): AffinityPolicy | undefined {
  const text = hardware.get(AFFINITY);
  const policy = POLICIES.find((one) => one === text);
  if (policy !== undefined || text === undefined) return policy;
  const message =
    text === 'socket'
      ? 'can not be socket: hosts report NUMA nodes, and not which of them share a socket'
      : `must be required, preferred or legacy, not '${text}'`;
  throw error('bad_extra_spec', keyOf(AFFINITY), message);
}

/** @throws BerthError `invalid_argument / conflicting_extra_specs`: what is only preferred would be near to nothing. */
export function refusePreferredDevices({ preferredAmounts }: ParsedExtraSpecs, error: ExtraSpecError): void {
  const other = preferredAmounts.find(({ resourceClass }) => isDeviceClass(resourceClass));
  if (other) throw error('conflicting_extra_specs', other.key, `does not go with hw:${AFFINITY}, which binds devices`);
}

/** The amounts of the unnumbered group, and, under a policy, a group of its own for each class of devices. */
export function withDevicesApart(
  amounts: Resources,
  policy: AffinityPolicy | undefined,
): { readonly amounts: Resources; readonly deviceGroups: readonly DeviceGroup[] } {
  const classes = policy === undefined ? [] : Object.keys(amounts).filter(isDeviceClass).sort();
  const deviceGroups = classes.map((name, n) => {
    return { suffix: `_pci${n}`, resources: { [name]: amounts[name] as number }, requiredTraits: [] };
  });
  const others = Object.entries(amounts).filter(([name]) => !classes.includes(name));
  return { amounts: classes.length === 0 ? amounts : Object.fromEntries(others), deviceGroups };
}

type DeviceGroup = Pick<RequestGroup, 'suffix' | 'resources' | 'requiredTraits'>;

/** Undefined for an instance without NUMA nodes: its devices may be anywhere, as in Nova. */
export function affinityOf(
  policy: AffinityPolicy,
  topology: Topology | undefined,
  groups: readonly RequestGroup[],
): DeviceAffinity | undefined {
  const nodes = (topology?.groups ?? []).map(({ suffix }) => suffix).filter((suffix) => suffix.startsWith('_numa'));
  if (nodes.length === 0) return undefined;
  return { policy, nodes, groups: groups.filter(isDeviceGroup).map(({ suffix }) => suffix) };
}

/** True for a resource class whose amounts are devices with a place in the machine. */
export function isDeviceClass(name: string): boolean {
  return DEVICE_CLASSES.has(name) || /^CUSTOM_(PCI|DEVICE)(_|$)/.test(name);
}

/** True for a group that asks for devices. */
export function isDeviceGroup({ resources }: Pick<RequestGroup, 'resources'>): boolean {
  return Object.keys(resources).some(isDeviceClass);
}

const DEVICE_CLASSES = new Set(['PGPU', 'VGPU', 'PCI_DEVICE', 'SRIOV_NET_VF', 'FPGA']);
