import type Docker from 'dockerode';
import { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import { commandWords } from '../command-words';
import type { InstanceToBuild } from '../driver';
import type { Place } from '../process/placing';

/** By these labels a driver finds its containers, after a restart too. */
export const LABELS = { host: 'berth.host', instance: 'berth.instance', facts: 'berth.facts' } as const;

/** What the label `berth.facts` keeps of an instance. */
export interface ContainerFacts {
  readonly resources: Resources;
  readonly cores: readonly number[];
  /** PCI addresses. */
  readonly devices: readonly string[];
}

export interface ContainerPlace extends Pick<Place, 'memoryNodes' | 'devices' | 'nodes'> {
  readonly cores: readonly number[];
}

const MIB = 1_048_576;

/**
 * The container of an instance: held to the cores, the memory and the NUMA nodes of its allocation, given the device
 * files of the providers that it claims of; PCI devices it is told by their addresses, in `BERTH_DEVICES`.
 *
 * - VCPU, PCPU  `cpuset`: as many cores; without any, all
 * - MEMORY_MB   the memory of all its processes, swap included
 *
 * It gains no privileges by setuid programs.
 */
export function containerOptions(
  instance: InstanceToBuild,
  { host, image, network, place, deviceFiles }: ContainerSettings,
): Docker.ContainerCreateOptions {
  const { uuid, name, projectId, resources, requestSpec, claimed, mappings } = instance;
  const facts: ContainerFacts = { resources, cores: place.cores, devices: place.devices };
  const memory = (resources['MEMORY_MB'] ?? 0) * MIB;
  const command = commandWords(requestSpec);
  const env = {
    BERTH_INSTANCE_UUID: uuid,
    BERTH_INSTANCE_NAME: name,
    BERTH_PROJECT_ID: projectId,
    ...(place.nodes.length > 0 && { BERTH_NUMA_NODES: place.nodes.join(',') }),
    ...(place.devices.length > 0 && { BERTH_DEVICES: place.devices.join(',') }),
    ...(Object.keys(mappings).length > 0 && { BERTH_MAPPINGS: JSON.stringify(mappings) }),
  };
  return {
    name: containerName(uuid),
    Image: image,
    ...(command && { Cmd: [...command] }),
    Env: Object.entries(env).map(([key, value]) => `${key}=${value}`),
    Labels: { [LABELS.host]: host, [LABELS.instance]: uuid, [LABELS.facts]: JSON.stringify(facts) },
    HostConfig: {
      NetworkMode: network,
      SecurityOpt: ['no-new-privileges'],
      ...(memory > 0 && { Memory: memory, MemorySwap: memory }),
      ...(place.cores.length > 0 && { CpusetCpus: place.cores.join(',') }),
      ...(place.memoryNodes.length > 0 && { CpusetMems: place.memoryNodes.join(',') }),
      Devices: Object.keys(claimed)
        .flatMap((provider) => deviceFiles.get(provider) ?? [])
        .map(passed),
    },
  };
}

export interface ContainerSettings {
  readonly host: string;
  readonly image: string;
  readonly network: string;
  readonly place: ContainerPlace;
  /** By the names of providers. */
  readonly deviceFiles: DeviceFiles;
}

export type DeviceFiles = ReadonlyMap<string, readonly string[]>;

/**
 * Reads `NAME=/dev/path` entries; a provider may have several.
 *
 * @throws BerthError `invalid_argument / bad_config`.
 */
export function parseDeviceFiles(entries: readonly string[]): DeviceFiles {
  const files = new Map<string, string[]>();
  for (const entry of entries) {
    const [, name = '', path = ''] = /^([^=]+)=(\/dev\/.+)$/.exec(entry) ?? [];
    if (name === '') {
      const message = `BERTH_AGENT_DOCKER_DEVICES: '${entry}' is not NAME=/dev/path`;
      throw new BerthError('invalid_argument', 'bad_config', message);
    }
    files.set(name, [...(files.get(name) ?? []), path]);
  }
  return files;
}

export function containerName(uuid: string): string {
  return `berth-${uuid}`;
}

function passed(path: string): Docker.DeviceMapping {
  return { PathOnHost: path, PathInContainer: path, CgroupPermissions: 'rwm' };
}
