import type { InstanceToBuild } from '../driver';
import type { AssignedCores, CoreSets } from './cores';
import type { InstanceFolder } from './instance-folder';
import { INSTANCE_PATH } from './machine';
import type { Place } from './placing';

/** Where an instance runs. */
export interface Placed {
  readonly place: Place;
  readonly assigned: AssignedCores;
  readonly all: CoreSets;
}

/** The environment of an instance. Variables for NUMA nodes, devices and kinds of cores are set only if it claimed some. */
export function environmentOf(
  { uuid, name, projectId, mappings }: InstanceToBuild,
  folder: InstanceFolder,
  { place: { nodes, devices, emulatorThreads, realtimeCount }, assigned, all }: Placed,
): Record<string, string> {
  const emulator = emulatorThreads === 'share' ? all.shared : assigned.emulator;
  const realtime = realtimeCount > 0 ? assigned.dedicated.slice(-realtimeCount) : [];
  return {
    PATH: INSTANCE_PATH,
    HOME: folder.work,
    BERTH_INSTANCE_UUID: uuid,
    BERTH_INSTANCE_NAME: name,
    BERTH_PROJECT_ID: projectId,
    ...(nodes.length > 0 && { BERTH_NUMA_NODES: nodes.join(',') }),
    ...(devices.length > 0 && { BERTH_DEVICES: devices.join(',') }),
    ...(emulator.length > 0 && { BERTH_EMULATOR_CORES: emulator.join(',') }),
    ...(realtime.length > 0 && { BERTH_REALTIME_CORES: realtime.join(',') }),
    ...(Object.keys(mappings).length > 0 && { BERTH_MAPPINGS: JSON.stringify(mappings) }),
  };
}
