import { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import type { NodeController } from '../node-controller';
import { isMarked } from '../redfish/fenced-session';
import { redfishController } from '../redfish/redfish-controller';
import { membersOf, mustSucceed } from '../redfish/redfish-http';
import { OUR_CONTEXT, type RedfishLogin, type RedfishService, redfishServices } from '../redfish/redfish-service';
import { serialOf, systemIdOf } from '../redfish/system-id';
import { type NamedMachine, nameMachines } from './name-machines';
import type { NodeDescription, NodeSource } from './node-source';

/** A system that its service lists. */
interface ListedSystem {
  readonly link: string;
  /** {} when it could not be read. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly systemId: string;
  readonly problem: string;
  /** True when it may be another node than the listed one. */
  readonly isDoubted?: boolean;
}

const MAX_PAGES = 1_000;

/**
 * All systems of one Redfish service, such as a rack's or a chassis manager's. `nameMachines` names them; they have the
 * configured class, and a trait for the model: `CUSTOM_MODEL_<Model>`. A system that can't be read, or can't be
 * identified, is a node with a problem: the others are served.
 *
 * @param root           `https://rack-7`
 * @param resourceClass  of all its nodes; '' for none
 */
export function redfishSource(root: string, resourceClass: string, login: RedfishLogin): NodeSource {
  const services = redfishServices(login);
  const found = new Map<string, ListedSystem>();
  return {
    async list(recall) {
      const systems = withoutTwins(await readSystems(services(root)));
      const hostNames = systems.map(({ body }) => textOf(body['HostName']) || textOf(body['Id']));
      const known = await recall(hostNames.filter((name) => name !== ''));
      const machines = systems.map(({ link, body, systemId }, n) => {
        const id = textOf(body['Id']) || (link.split('/').findLast((part) => part !== '') ?? '');
        const mayBeKnown = Object.keys(body).length === 0 || isMarked(body);
        return { link, id, systemId, hostName: hostNames[n] ?? '', mayBeKnown };
      });
      const names = nameMachines(machines, known);
      return systems.map((listed, n): NodeDescription => {
        const { name, doubt } = names[n] as NamedMachine;
        const problem = [listed.problem, doubt].filter((one) => one !== '').join('; ');
        const isDoubted = doubt !== '';
        const system = { ...listed, problem, isDoubted, ...(isDoubted && { systemId: '' }) };
        found.set(name, system);
        const { body, systemId } = system;
        const systemLink = isDoubted ? '' : system.link;
        const isRead = Object.keys(body).length > 0;
        const traits = isRead ? modelTraits(body['Model']) : undefined;
        return { name, resourceClass, traits, resources: sizeOf(body), systemId, systemLink, problem };
      });
    },
    controller(name) {
      const { link = '', systemId = '', problem = '', body = {}, isDoubted = false } = found.get(name) ?? {};
      if (isDoubted || (problem !== '' && Object.keys(body).length > 0)) return refusingController(problem);
      return redfishController(name, root + link, services, systemId);
    },
  };
}

async function readSystems(service: RedfishService): Promise<ListedSystem[]> {
  const reader = {};
  service.use(reader);
  const ask = async (link: string) => {
    for (let tries = 1; ; tries++) {
      const credential = await service.session(`${OUR_CONTEXT}inventory`);
      const answer = await service.send(link, {}, credential);
      if (answer.status !== 401 || tries === 2) return mustSucceed(answer, service.root + link);
      service.ended(credential);
    }
  };
  try {
    const links: string[] = [];
    let next: string | undefined = '/redfish/v1/Systems';
    for (let pages = 0; next !== undefined && pages < MAX_PAGES; pages++) {
      const page: Readonly<Record<string, unknown>> = (await ask(next)).body;
      links.push(...membersOf(page));
      next = page['Members@odata.nextLink'] as string | undefined;
    }
    const systems: ListedSystem[] = [];
    for (const link of new Set(links)) {
      const read = await ask(link).catch((thrown: unknown) => BerthError.from(thrown));
      if (read instanceof BerthError) systems.push({ link, body: {}, systemId: '', problem: read.message });
      else systems.push({ link, body: read.body, systemId: systemIdOf(read.body), problem: '' });
    }
    return systems;
  } finally {
    await service.leave(reader);
  }
}

/** Swapped or unnumbered boards may show another's uuid: then serial numbers distinguish them, or nothing does. */
function withoutTwins(systems: readonly ListedSystem[]): ListedSystem[] {
  const differing = systems.map((system) => {
    const isTwin = systems.some((other) => other !== system && other.systemId === system.systemId);
    return isTwin && system.systemId !== ''
      ? { ...system, systemId: serialOf(system.body) || system.systemId }
      : system;
  });
  return differing.map((system) => {
    if (system.systemId === '') return system;
    const twins = differing.filter(({ systemId }) => systemId === system.systemId).map(({ link }) => link);
    if (twins.length < 2) return system;
    const problem = `${twins.join(' and ')} both say that they are ${system.systemId}: nothing tells them apart; give each its own uuid or serial number`;
    return { ...system, systemId: '', problem };
  });
}

/** The controller of a machine that may be another than listed: it refuses everything. */
function refusingController(problem: string): NodeController {
  const refuse = async () => {
    throw new BerthError('failed_precondition', 'ambiguous_system', problem);
  };
  return { claim: refuse, status: refuse, setPower: refuse, setBootDevice: refuse, async close() {} };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : '';
}

/** DMTF's `ProcessorSummary` and `MemorySummary`, as far as present; disks are left out. */
function sizeOf(system: Readonly<Record<string, unknown>>): Resources {
  const { LogicalProcessorCount } = (system['ProcessorSummary'] ?? {}) as { LogicalProcessorCount?: number | null };
  const { TotalSystemMemoryGiB } = (system['MemorySummary'] ?? {}) as { TotalSystemMemoryGiB?: number | null };
  const vcpus = wholeOf(LogicalProcessorCount);
  const memoryMb = wholeOf((TotalSystemMemoryGiB ?? 0) * 1024);
  return { ...(vcpus > 0 ? { VCPU: vcpus } : {}), ...(memoryMb > 0 ? { MEMORY_MB: memoryMb } : {}) };
}

function wholeOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.floor(value) : 0;
}

function modelTraits(model: unknown): string[] {
  const text = textOf(model)
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_');
  return text === '' ? [] : [`CUSTOM_MODEL_${text}`.slice(0, 255)];
}
