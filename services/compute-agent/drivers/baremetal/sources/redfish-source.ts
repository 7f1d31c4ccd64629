import { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import { isHostName } from '#libs/domain/names';
import { listTogether } from '../redfish/list-sessions';
import { redfishController } from '../redfish/redfish-controller';
import { askRedfish, membersOf, mustSucceed, openSession, type RedfishLogin } from '../redfish/redfish-http';
import type { NodeDescription, NodeSource } from './node-source';

/**
 * All systems of one Redfish service, such as a rack's or a chassis manager's. A node is called as its system's `HostName`, or
 * else its `Id`; its class is the one that is configured, and its trait tells the model: `CUSTOM_MODEL_<Model>`.
 *
 * @param service        `https://rack-7`
 * @param resourceClass  of all its nodes; '' for none
 */
export function redfishSource(service: string, resourceClass: string, login: RedfishLogin): NodeSource {
  const systems = new Map<string, string>();
  const listSessions = listTogether(login);
  return {
    async list() {
      const found: NodeDescription[] = [];
      for (const { link, body } of await readSystems(service, login)) {
        const name = String(body['HostName'] || body['Id']);
        if (!isHostName(name) || systems.has(name)) {
          const message = `${service}${link}: its name '${name}' is no host name, or another system's`;
          throw new BerthError('invalid_argument', 'bad_nodes', message);
        }
        systems.set(name, service + link);
        found.push({ name, resourceClass, traits: modelTraits(body['Model']), resources: sizeOf(body) });
      }
      return found;
    },
    controller: (name) => redfishController(name, { ...login, system: systems.get(name) ?? '' }, listSessions),
  };
}

async function readSystems(service: string, login: RedfishLogin) {
  const { timeoutMs } = login;
  const { token, location } = await openSession(service, login);
  const ask = async (link: string) =>
    mustSucceed(await askRedfish(service + link, { token }, timeoutMs), service + link);
  try {
    const links: string[] = [];
    for (let next: string | undefined = '/redfish/v1/Systems'; next !== undefined; ) {
      const page: Readonly<Record<string, unknown>> = (await ask(next)).body;
      links.push(...membersOf(page));
      next = page['Members@odata.nextLink'] as string | undefined;
    }
    const systems = [];
    for (const link of links) systems.push({ link, body: (await ask(link)).body });
    return systems;
  } finally {
    await askRedfish(new URL(location, service).href, { method: 'DELETE', token }, timeoutMs).catch(() => {});
  }
}

/** DMTF's `ProcessorSummary` and `MemorySummary`; what it does not say is left out, and disks are. */
function sizeOf(system: Readonly<Record<string, unknown>>): Resources {
  const { LogicalProcessorCount: vcpus = 0 } = (system['ProcessorSummary'] ?? {}) as { LogicalProcessorCount?: number };
  const { TotalSystemMemoryGiB: gib = 0 } = (system['MemorySummary'] ?? {}) as { TotalSystemMemoryGiB?: number };
  const memoryMb = Math.floor(gib * 1024);
  return { ...(vcpus > 0 ? { VCPU: vcpus } : {}), ...(memoryMb > 0 ? { MEMORY_MB: memoryMb } : {}) };
}

function modelTraits(model: unknown): string[] {
  if (typeof model !== 'string' || model === '') return [];
  return [`CUSTOM_MODEL_${model.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`];
}
