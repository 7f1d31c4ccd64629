import * as fc from 'fast-check';
import { fitTopology } from '../../../services/nova-scheduler/hardware/fit-topology';
import { hostCellsOf, pciPoolsOf } from '../../../services/nova-scheduler/hardware/host-hardware';
import { takeDevices } from '../../../services/nova-scheduler/hardware/pci-devices';
import { takeHardware } from '../../../services/nova-scheduler/hardware/take-hardware';
import { wantedHardware } from '../../../services/nova-scheduler/hardware/wanted-hardware';
import { readHostTopology, readPciPools } from '../../../services/nova-scheduler/objects/hardware';
import { readRequestSpec } from '../../../services/nova-scheduler/objects/tables';
import { aNovaSpec } from '../../../services/nova-scheduler/testing/nova-spec';
import { askNova } from './ask-nova';
import { type HardwareCase, hardwareCase } from './hardware-cases';

const CASES = 1_500;

it("fits NUMA nodes and PCI devices where Nova's own functions do", async () => {
  const cases = fc.sample(hardwareCase, { numRuns: CASES, seed: 31 });
  const nova = (await askNova('nova_fit.py', cases)) as readonly NovaAnswer[];
  const differences = cases.flatMap((one, i) => {
    const ours = JSON.stringify(fitOf(one));
    const theirs = JSON.stringify(nova[i]);
    return ours === theirs ? [] : [{ one: JSON.stringify(one), ours, theirs }];
  });
  expect(differences.slice(0, 1)).toEqual([]);
  const count = (is: (answer: NovaAnswer) => boolean) => nova.filter(is).length;
  // Both answers are common, so that a fit that always says one of them differs.
  expect(count(({ left }) => left !== null)).toBeGreaterThan(CASES / 20);
  expect(count(({ hasDevices, left }) => hasDevices && left === null)).toBeGreaterThan(CASES / 20);
  expect(count(({ hasDevices }) => !hasDevices)).toBeGreaterThan(CASES / 20);
});

interface NovaAnswer {
  readonly hasDevices: boolean;
  readonly cells: unknown;
  readonly left: unknown;
}

function fitOf({ host, pools, wanted, requests, networks, cpuRatio, ramRatio, isPacking }: HardwareCase): NovaAnswer {
  const hardware = {
    cells: hostCellsOf(readHostTopology(host, 'host')),
    pools: pciPoolsOf(readPciPools(pools, 'pools')),
    cpuAllocationRatio: cpuRatio,
    ramAllocationRatio: ramRatio,
    failedBuilds: 0,
    metrics: new Map<string, number>(),
  };
  const more = { numa_topology: wanted, pci_requests: requests, network_metadata: networks };
  const asked = wantedHardware(readRequestSpec(aNovaSpec({ more }), 'spec'));
  const settings = { packingHostNumaCells: isPacking };
  const { topology, pciRequests } = asked;
  const cells = topology && fitTopology(hardware, topology, pciRequests, settings);
  const left = takeHardware(hardware, asked, settings);
  return {
    hasDevices: takeDevices(hardware.pools, pciRequests, hardware.cells) !== undefined,
    cells: cells?.map(({ id, pagesize }) => [id, pagesize]) ?? null,
    left: left
      ? {
          pools: left.pools.map(({ count }) => count),
          cells: left.cells.map(({ id, cpuUsage, memoryUsageMb, pinnedCpus, pages }) => {
            return { id, cpuUsage, memoryUsageMb, pinnedCount: pinnedCpus.size, pages: pages.map(({ used }) => used) };
          }),
        }
      : null,
  };
}
