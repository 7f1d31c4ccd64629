import type { InstanceToBuild } from '../driver';
import type { InstanceFolder } from './instance-folder';
import { INSTANCE_PATH } from './machine';
import type { Place } from './placing';

/** The environment of an instance. Variables for NUMA nodes and devices are set only if it claimed some. */
export function environmentOf(
  { uuid, name, projectId, mappings }: InstanceToBuild,
  folder: InstanceFolder,
  { nodes, devices }: Place,
): Record<string, string> {
  return {
    PATH: INSTANCE_PATH,
    HOME: folder.work,
    BERTH_INSTANCE_UUID: uuid,
    BERTH_INSTANCE_NAME: name,
    BERTH_PROJECT_ID: projectId,
    ...(nodes.length > 0 && { BERTH_NUMA_NODES: nodes.join(',') }),
    ...(devices.length > 0 && { BERTH_DEVICES: devices.join(',') }),
    ...(Object.keys(mappings).length > 0 && { BERTH_MAPPINGS: JSON.stringify(mappings) }),
  };
}
