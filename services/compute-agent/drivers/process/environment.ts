import type { InstanceToBuild } from '../driver';
import type { InstanceFolder } from './instance-folder';
import { INSTANCE_PATH } from './machine';
import type { Place } from './placing';

/** The environment of an instance. What says where it is and what it has is there only when that was claimed. */
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
