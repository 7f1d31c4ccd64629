import { readFile } from 'node:fs/promises';
import { BerthError } from '#libs/domain/errors';
import type { Resources } from '#libs/domain/inventory';
import { isClassOrTraitName, isHostName } from '#libs/domain/names';
import { isNodeClass } from '#libs/domain/nodes/node';
import { redfishController } from '../redfish/redfish-controller';
import { askOverHttp } from '../redfish/redfish-http';
import { type RedfishLogin, type RedfishService, redfishServices } from '../redfish/redfish-service';
import type { NodeDescription, NodeSource } from './node-source';

/** One node of the file: `{"name": "node-1", "class": "GOLD", "traits": [], "redfish": "https://bmc-1/redfish/v1/Systems/1"}`. */
interface FileNode {
  readonly name: string;
  readonly class?: string;
  readonly traits?: readonly string[];
  readonly redfish: string;
  /** Certificates to trust its controller with; default: those of the configuration. */
  readonly ca?: string;
  /** The machine's resources: `{"VCPU": 64, "MEMORY_MB": 262144, "DISK_GB": 4000}`. */
  readonly resources?: Resources;
}

/**
 * The nodes in a file, a JSON array, read once at the agent's start.
 *
 * @param resourceClass  of nodes without a class; '' for none
 */
export function fileSource(path: string, resourceClass: string, login: RedfishLogin): NodeSource {
  const reached = new Map<string, { readonly url: string; readonly services: (root: string) => RedfishService }>();
  const shared = redfishServices(login);
  const byCa = new Map<string, (root: string) => RedfishService>();
  const servicesBy = (ca: string | undefined) => {
    if (ca === undefined) return shared;
    const services = byCa.get(ca) ?? redfishServices({ ...login, ask: askOverHttp(ca) });
    byCa.set(ca, services);
    return services;
  };
  return {
    async list() {
      const nodes = parseNodes(path, await readFile(path, 'utf8').catch((cause: unknown) => refuse(path, cause)));
      for (const { name, redfish: url, ca } of nodes) reached.set(name, { url, services: servicesBy(ca) });
      return nodes.map((node) => describe(node, resourceClass));
    },
    controller(name) {
      const { url = '', services = shared } = reached.get(name) ?? {};
      return redfishController(name, url, services);
    },
  };
}

/** @throws BerthError `invalid_argument / bad_nodes` with the node's name. */
function parseNodes(path: string, text: string): readonly FileNode[] {
  let nodes: unknown;
  try {
    nodes = JSON.parse(text);
  } catch (cause) {
    return refuse(path, cause);
  }
  if (!Array.isArray(nodes)) throw badNodes(`${path} must be a JSON array of nodes`);
  const seen = new Set<string>();
  for (const [index, node] of nodes.entries()) {
    const where = `${path}: node ${index}`;
    const {
      name,
      class: resourceClass = '',
      traits = [],
      redfish,
      ca,
      resources = {},
    } = (node ?? {}) as Partial<FileNode>;
    if (typeof name !== 'string' || !isHostName(name)) throw badNodes(`${where} must have a name that is a host name`);
    if (seen.has(name)) throw badNodes(`${where} is ${name} a second time`);
    seen.add(name);
    if (typeof resourceClass !== 'string' || (resourceClass !== '' && !isNodeClass(classOf(resourceClass))))
      throw badNodes(`${where} (${name}): class must be upper case letters, digits and underscores`);
    if (!Array.isArray(traits) || !traits.every((trait) => typeof trait === 'string' && isClassOrTraitName(trait)))
      throw badNodes(`${where} (${name}): traits must be names of traits`);
    const amounts =
      typeof resources === 'object' && resources !== null ? Object.entries(resources) : [['', 0] as const];
    if (!amounts.every(([of, amount]) => isClassOrTraitName(of) && Number.isSafeInteger(amount) && amount > 0))
      throw badNodes(`${where} (${name}): resources must be amounts by class, such as {"VCPU": 64}`);
    if (typeof redfish !== 'string' || !/^https?:\/\/.+\/redfish\/v1\/Systems\/.+/.test(redfish))
      throw badNodes(`${where} (${name}): redfish must be the URL of a system, http(s)://HOST/redfish/v1/Systems/ID`);
    if (ca !== undefined && typeof ca !== 'string')
      throw badNodes(`${where} (${name}): ca must name a file of certificates in PEM`);
  }
  return nodes as readonly FileNode[];
}

function describe(
  { name, class: own = '', traits = [], resources = {} }: FileNode,
  otherwise: string,
): NodeDescription {
  return { name, resourceClass: own === '' ? otherwise : classOf(own), traits, resources };
}

/** `GOLD` and `CUSTOM_BAREMETAL_GOLD` are equal. */
export function classOf(name: string): string {
  return name.startsWith('CUSTOM_BAREMETAL_') ? name : `CUSTOM_BAREMETAL_${name}`;
}

function refuse(path: string, cause: unknown): never {
  throw new BerthError('invalid_argument', 'bad_nodes', `${path} can't be read as JSON`, { cause });
}

function badNodes(message: string): BerthError {
  return new BerthError('invalid_argument', 'bad_nodes', message);
}
