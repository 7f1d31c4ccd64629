import { isDeepStrictEqual } from 'node:util';
import type Docker from 'dockerode';
import { DEFAULT_CELL } from '#libs/domain/cells/cell';
import type { Resources } from '#libs/domain/inventory';
import { commandWords } from '../command-words';
import type { InstanceToBuild } from '../driver';
import type { Place } from '../process/placing';
import { parseCpuList } from '../process/proc';
import { type DeviceFiles, filesOf } from './device-files';

/** Labels by which a driver finds its containers, also after a restart. */
export const LABELS = {
  cell: 'berth.cell',
  host: 'berth.host',
  instance: 'berth.instance',
  facts: 'berth.facts',
} as const;

/** The host that owns containers. Several hosts may share an engine, also across cells, and then with equal names. */
export interface EngineHost {
  readonly name: string;
  readonly cell: string;
}

/**
 * True when a container belongs to a cell by its labels. An unlabelled one, made by an earlier release, belongs to any.
 */
export function isOfCell(labels: Readonly<Record<string, string>>, cell: string): boolean {
  return (labels[LABELS.cell] ?? cell) === cell;
}

/** Facts of a container: its creation values are in the label `berth.facts`. */
export interface ContainerFacts {
  readonly projectId: string | undefined;
  readonly resources: Resources;
  /** Empty when it may use all. */
  readonly cores: readonly number[];
  /** PCI addresses. */
  readonly devices: readonly string[];
}

export interface ContainerPlace extends Pick<Place, 'memoryNodes' | 'devices' | 'nodes'> {
  readonly cores: readonly number[];
}

const MIB = 1_048_576;

/**
 * The container of an instance: limited to the cores, the memory and the NUMA nodes of its allocation, with the device
 * files of its claimed providers; `BERTH_DEVICES` lists the addresses of its PCI devices.
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
  const { uuid, resources, requestSpec, claimed } = instance;
  const memory = (resources['MEMORY_MB'] ?? 0) * MIB;
  const command = commandWords(requestSpec);
  return {
    name: containerName(host, uuid),
    Image: image,
    ...(command && { Cmd: [...command] }),
    Env: environmentOf(instance, place),
    Labels: {
      [LABELS.cell]: host.cell,
      [LABELS.host]: host.name,
      [LABELS.instance]: uuid,
      [LABELS.facts]: JSON.stringify(madeWith(instance, place)),
    },
    HostConfig: {
      NetworkMode: network,
      SecurityOpt: ['no-new-privileges'],
      ...(memory > 0 && { Memory: memory, MemorySwap: memory }),
      ...(place.cores.length > 0 && { CpusetCpus: place.cores.join(',') }),
      ...(place.memoryNodes.length > 0 && { CpusetMems: place.memoryNodes.join(',') }),
      Devices: filesOf(deviceFiles, claimed).map(passed),
    },
  };
}

export interface ContainerSettings {
  readonly host: EngineHost;
  readonly image: string;
  readonly network: string;
  readonly place: ContainerPlace;
  readonly deviceFiles: DeviceFiles;
}

/** The `berth.facts` of an instance. */
export function madeWith(
  { projectId, resources }: InstanceToBuild,
  { cores, devices }: ContainerPlace,
): ContainerFacts {
  return { projectId, resources, cores, devices };
}

/**
 * The present facts of a container: a label can't be changed, so updatable ones are read from its limits.
 *
 * @param all  the cores of the machine
 */
export function factsOf({ Config, HostConfig }: Limited, all: readonly number[]): ContainerFacts {
  const made = JSON.parse(Config.Labels[LABELS.facts] ?? '{}') as ContainerFacts;
  const held = parseCpuList(HostConfig.CpusetCpus ?? '');
  const cores = held.length < all.length ? held : [];
  const { VCPU = 0, PCPU = 0, MEMORY_MB = 0 } = made.resources;
  const vcpus = isDeepStrictEqual(cores, made.cores) ? VCPU : held.length - PCPU;
  const memoryMb = HostConfig.Memory ? HostConfig.Memory / MIB : MEMORY_MB;
  const changed = { ...(vcpus !== VCPU && { VCPU: vcpus }), ...(memoryMb !== MEMORY_MB && { MEMORY_MB: memoryMb }) };
  const projectId = Config.Env?.find((one) => one.startsWith(PROJECT))?.slice(PROJECT.length);
  return { ...made, projectId, resources: { ...made.resources, ...changed }, cores };
}

/** The variable that names its project; containers of older versions have it, too. */
const PROJECT = 'BERTH_PROJECT_ID=';

type Limited = Pick<Docker.ContainerInspectInfo, 'Config' | 'HostConfig'>;

/**
 * The update that gives a container these options; undefined when the engine can't do it in place: its environment or a
 * device changes, or something that its limits would not show afterwards.
 *
 * @param all  the cores of the machine
 */
export function updateTo(
  present: Limited,
  { Env = [], HostConfig = {}, Labels }: Docker.ContainerCreateOptions,
  all: readonly number[],
): Docker.HostConfig | undefined {
  const { Memory = 0, CpusetMems = '' } = HostConfig;
  const CpusetCpus = HostConfig.CpusetCpus ?? all.join(',');
  // The engine changes a limit, but does not remove it.
  if (Memory === 0 && (present.HostConfig.Memory ?? 0) > 0) return undefined;
  if (CpusetMems === '' && (present.HostConfig.CpusetMems ?? '') !== '') return undefined;
  if (!isDeepStrictEqual(berthVariables(present.Config.Env), berthVariables(Env))) return undefined;
  if (!isDeepStrictEqual(pathsOf(present.HostConfig), pathsOf(HostConfig))) return undefined;
  const after = factsOf({ ...present, HostConfig: { ...HostConfig, CpusetCpus } }, all);
  if (!isDeepStrictEqual(after, JSON.parse(Labels?.[LABELS.facts] ?? '{}'))) return undefined;
  return {
    CpusetCpus,
    ...(Memory > 0 && { Memory, MemorySwap: Memory }),
    ...(CpusetMems !== '' && { CpusetMems }),
  };
}

/**
 * An instance that moves to another cell is in both for a while. The default cell's containers carry no cell in their
 * names.
 */
export function containerName({ name, cell }: EngineHost, uuid: string): string {
  return `berth-${name}-${uuid}${cell === DEFAULT_CELL ? '' : `_${cell}`}`;
}

/** A name without a value unsets the image's variable; an image committed from a container may have some. */
function environmentOf({ uuid, name, projectId, mappings }: InstanceToBuild, { nodes, devices }: ContainerPlace) {
  const hasMappings = Object.keys(mappings).length > 0;
  const env = {
    BERTH_INSTANCE_UUID: uuid,
    BERTH_INSTANCE_NAME: name,
    BERTH_PROJECT_ID: projectId,
    BERTH_NUMA_NODES: nodes.length > 0 ? nodes.join(',') : undefined,
    BERTH_DEVICES: devices.length > 0 ? devices.join(',') : undefined,
    BERTH_MAPPINGS: hasMappings ? JSON.stringify(mappings) : undefined,
  };
  return Object.entries(env).map(([key, value]) => (value === undefined ? key : `${key}=${value}`));
}

/** The variables that Berth set. */
function berthVariables(env: readonly string[]): readonly string[] {
  return env.filter((one) => one.startsWith('BERTH_') && one.includes('=')).sort();
}

function pathsOf({ Devices }: Docker.HostConfig): readonly string[] {
  return ((Devices ?? []) as readonly Docker.DeviceMapping[]).map(({ PathOnHost }) => PathOnHost).sort();
}

function passed(path: string): Docker.DeviceMapping {
  return { PathOnHost: path, PathInContainer: path, CgroupPermissions: 'rwm' };
}
