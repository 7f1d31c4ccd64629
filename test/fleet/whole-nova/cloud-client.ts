import { sleep } from '#libs/domain/clock';
import { systemClock } from '#libs/runtime/system';

const clock = systemClock();
const POLL_MS = 500;
const REQUEST_TIMEOUT_MS = 60_000;
/** The newest of Nova 26 but for two, and of Placement. */
const MICROVERSIONS = 'compute 2.91, placement 1.39';

export type Amounts = Readonly<Record<string, number>>;
/** Amounts by host, by consumer. */
export type Holdings = Readonly<Record<string, Readonly<Record<string, Amounts>>>>;

/** A server as Nova's API tells it to administrators. */
export interface CloudServer {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly host: string | null;
  readonly isBusy: boolean;
  readonly fault: string;
  readonly image: string;
  readonly flavor: { readonly name: string; readonly resources: Amounts };
}

export interface ComputeService {
  readonly id: string;
  readonly host: string;
  readonly state: string;
}

type Json = Readonly<Record<string, unknown>>;
type Traits = { readonly traits: readonly string[] };

/** An administrator of a cloud, who calls Nova and placement. */
export class CloudClient {
  #token = '';

  constructor(
    private readonly at: {
      readonly keystone: string;
      readonly password: string;
      readonly nova: string;
      readonly placement: string;
    },
  ) {}

  async services(binary = 'nova-compute'): Promise<readonly ComputeService[]> {
    return (await this.nova<{ services: ComputeService[] }>('GET', `/os-services?binary=${binary}`)).services;
  }

  async setService(host: string, change: Json): Promise<void> {
    const { id } = (await this.services()).find((one) => one.host === host) ?? fail(`there is no service on ${host}`);
    await this.nova('PUT', `/os-services/${id}`, change);
  }

  /** Enables or disables a host, and waits until its compute told placement. */
  async setEnabled(host: string, isEnabled: boolean): Promise<void> {
    await this.setService(host, { status: isEnabled ? 'enabled' : 'disabled' });
    const { uuid } = (await this.providers()).find(({ name }) => name === host) ?? fail(`no provider is ${host}`);
    await this.eventually(async () => {
      const { traits } = (await this.#call('placement', 'GET', `/resource_providers/${uuid}/traits`)) as Traits;
      return traits.includes('COMPUTE_STATUS_DISABLED') === isEnabled
        ? `${host} is still ${isEnabled ? 'disabled' : 'enabled'}`
        : undefined;
    });
  }

  async createFlavor(name: string, vcpus: number, ram: number, disk: number): Promise<void> {
    await this.nova('POST', '/flavors', { flavor: { id: name, name, vcpus, ram, disk } });
  }

  /** Requests servers of one name; several get numbers. */
  async boot(name: string, flavor: string, image: string, more: BootOptions = {}): Promise<void> {
    const { count = 1, zone, group } = more;
    const server = { name, flavorRef: flavor, imageRef: image, networks: 'none', min_count: count, max_count: count };
    const zoned = zone === undefined ? server : { ...server, availability_zone: zone };
    const hints = group === undefined ? {} : { 'os:scheduler_hints': { group } };
    await this.nova('POST', '/servers', { server: zoned, ...hints });
  }

  async act(name: string, action: Json): Promise<void> {
    const { id } = await this.server(name);
    await this.nova('POST', `/servers/${id}/action`, action);
  }

  async delete(name: string): Promise<void> {
    await this.nova('DELETE', `/servers/${(await this.server(name)).id}`);
  }

  async servers(): Promise<readonly CloudServer[]> {
    return (await this.nova<{ servers: Json[] }>('GET', '/servers/detail?all_tenants=1')).servers.map(serverOf);
  }

  /** A server, with its fault, which the list does not have. */
  async server(name: string): Promise<CloudServer> {
    const { id } = (await this.servers()).find((one) => one.name === name) ?? fail(`there is no server ${name}`);
    return serverOf((await this.nova<{ server: Json }>('GET', `/servers/${id}`)).server);
  }

  async createGroup(name: string, policy: string): Promise<string> {
    const made = await this.nova<{ server_group: { id: string } }>('POST', '/os-server-groups', {
      server_group: { name, policy },
    });
    return made.server_group.id;
  }

  /** Makes an availability zone of hosts; resolves to what takes it away. */
  async createZone(name: string, hosts: readonly string[]): Promise<() => Promise<void>> {
    const aggregate = { name, availability_zone: name };
    const made = await this.nova<{ aggregate: { id: number } }>('POST', '/os-aggregates', { aggregate });
    const path = `/os-aggregates/${made.aggregate.id}`;
    for (const host of hosts) await this.nova('POST', `${path}/action`, { add_host: { host } });
    return async () => {
      for (const host of hosts) await this.nova('POST', `${path}/action`, { remove_host: { host } });
      await this.nova('DELETE', path);
    };
  }

  /** Hosts on which a server's build was begun, in order. */
  async buildHosts(name: string): Promise<readonly string[]> {
    const path = `/servers/${(await this.server(name)).id}/os-instance-actions`;
    const { instanceActions } = await this.nova<{ instanceActions: { request_id: string }[] }>('GET', path);
    const request = instanceActions.at(-1)?.request_id ?? '';
    const { instanceAction } = await this.nova<{ instanceAction: { events: BuildEvent[] } }>(
      'GET',
      `${path}/${request}`,
    );
    return instanceAction.events
      .filter(({ event }) => event === 'compute__do_build_and_run_instance')
      .toSorted((a, b) => a.start_time.localeCompare(b.start_time))
      .map(({ host }) => host);
  }

  async providers(): Promise<readonly { readonly uuid: string; readonly name: string }[]> {
    const found = await this.#call('placement', 'GET', '/resource_providers');
    return (found as { resource_providers: { uuid: string; name: string }[] }).resource_providers;
  }

  /** The claimable inventory of a provider, by class: total less reserved. */
  async free(uuid: string): Promise<Amounts> {
    const found = await this.#call('placement', 'GET', `/resource_providers/${uuid}/inventories`);
    const { inventories } = found as { inventories: Readonly<Record<string, { total: number; reserved: number }>> };
    const free = Object.entries(inventories).map(([name, { total, reserved }]) => [name, total - reserved] as const);
    return Object.fromEntries(free);
  }

  /** Everything that is held, of all providers. */
  async holdings(): Promise<Holdings> {
    const held: Record<string, Record<string, Amounts>> = {};
    for (const { uuid, name } of await this.providers()) {
      const found = await this.#call('placement', 'GET', `/resource_providers/${uuid}/allocations`);
      const { allocations } = found as { allocations: Readonly<Record<string, { readonly resources: Amounts }>> };
      for (const [consumer, { resources }] of Object.entries(allocations)) (held[consumer] ??= {})[name] = resources;
    }
    return held;
  }

  /** @param isNotYet  what is not as expected yet */
  async eventually(isNotYet: () => Promise<string | undefined>, withinMs = 180_000): Promise<void> {
    const untilMs = clock.elapsed() + withinMs;
    for (;;) {
      const problem = await isNotYet().catch((thrown: Error) => thrown.message);
      if (problem === undefined) return;
      if (clock.elapsed() > untilMs) throw new Error(`after ${withinMs} ms: ${problem}`);
      await sleep(clock, POLL_MS);
    }
  }

  async nova<T = unknown>(method: string, path: string, body?: Json): Promise<T> {
    return (await this.#call('nova', method, path, body)) as T;
  }

  async #call(service: 'nova' | 'placement', method: string, path: string, body?: Json): Promise<unknown> {
    if (this.#token === '') this.#token = await this.#login();
    const headers = {
      'content-type': 'application/json',
      'x-auth-token': this.#token,
      'openstack-api-version': MICROVERSIONS.split(', ')[service === 'nova' ? 0 : 1] ?? '',
    };
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const sent = { method, headers, signal, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(this.at[service] + path, sent);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  async #login(): Promise<string> {
    const [domain, name] = [{ name: 'Default' }, 'admin'];
    const identity = { methods: ['password'], password: { user: { name, domain, password: this.at.password } } };
    const body = JSON.stringify({ auth: { identity, scope: { project: { name, domain } } } });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${this.at.keystone}/auth/tokens`, { method: 'POST', headers, body });
    return response.headers.get('x-subject-token') ?? fail(`no token: ${await response.text()}`);
  }
}

export interface BootOptions {
  readonly count?: number;
  readonly zone?: string;
  readonly group?: string;
}

interface BuildEvent {
  readonly event: string;
  readonly host: string;
  readonly start_time: string;
}

function serverOf(row: Json): CloudServer {
  const flavor = row['flavor'] as { original_name: string; vcpus: number; ram: number; disk: number };
  const fault = row['fault'] as { readonly message: string } | undefined;
  const image = row['image'] as { readonly id: string };
  return {
    id: String(row['id']),
    name: String(row['name']),
    status: String(row['status']),
    host: row['OS-EXT-SRV-ATTR:host'] as string | null,
    isBusy: row['OS-EXT-STS:task_state'] !== null,
    fault: fault?.message ?? '',
    image: image.id,
    flavor: {
      name: flavor.original_name,
      resources: { VCPU: flavor.vcpus, MEMORY_MB: flavor.ram, DISK_GB: flavor.disk },
    },
  };
}

function fail(message: string): never {
  throw new Error(message);
}
