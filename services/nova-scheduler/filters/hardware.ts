import { takeDevices } from '../hardware/pci-devices';
import { takeHardware } from '../hardware/take-hardware';
import type { HostFilter } from './filter';

const UNKNOWN = "its hardware is not known from Nova's database";

/** The host has NUMA nodes for those of the instance: with processors, pages and networks, and its PCI devices near. */
export const numaTopologyFilter: HostFilter = {
  name: 'NUMATopologyFilter',
  runsOnRebuild: false,
  prepare({ request: { hardware: wanted }, settings }) {
    const { topology } = wanted;
    if (topology === undefined) return undefined;
    return ({ hardware }) => {
      if (hardware === undefined) return UNKNOWN;
      if (hardware.cells.length === 0) return 'it tells no NUMA nodes';
      if (hardware.cells.length < topology.cells.length) return 'it has too few NUMA nodes';
      const isFit = takeHardware(hardware, wanted, settings) !== undefined;
      return isFit ? undefined : 'its NUMA nodes have no room for those of the instance';
    };
  },
};

/** The host has the PCI devices, wherever they are. */
export const pciPassthroughFilter: HostFilter = {
  name: 'PciPassthroughFilter',
  runsOnRebuild: false,
  prepare({ request: { hardware: wanted } }) {
    if (wanted.pciRequests.length === 0) return undefined;
    return ({ hardware }) => {
      if (hardware === undefined) return UNKNOWN;
      const left = takeDevices(hardware.pools, wanted.pciRequests, hardware.cells);
      return left === undefined ? 'it has too few of the PCI devices' : undefined;
    };
  },
};
