import { randomUUID } from 'node:crypto';
import { sleep } from '../../domain/clock';
import { fetchJson, type JsonRequest } from '../../runtime/fetch-json';
import { systemClock } from '../../runtime/system';

/** Fields of a node at Ironic that tests look at. */
export interface ShownNode {
  readonly uuid: string;
  readonly provision_state: string;
  readonly power_state: string | null;
  readonly instance_uuid: string | null;
  readonly instance_info: Readonly<Record<string, unknown>>;
  readonly maintenance: boolean;
  readonly protected: boolean;
  readonly last_error: string | null;
}

const clock = systemClock();
const POLL_MS = 100;
const TIMEOUT_MS = 60_000;
const MICROVERSION = '1.78';

/** An operator of a private Ironic, who enrols nodes and works on them beside Berth. */
export class IronicOperator {
  constructor(private readonly url: string) {}

  /** @throws Error with the answer unless it is a success */
  async ask(method: NonNullable<JsonRequest['method']>, path: string, body?: unknown): Promise<unknown> {
    const headers = { 'x-openstack-ironic-api-version': MICROVERSION };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await fetchJson(this.url + path, { method, headers, body, signal });
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  }

  /** Enrols a node, and makes it available. Resolves to its uuid. */
  async enrol(resourceClass: string, traits: readonly string[] = []): Promise<string> {
    const uuid = randomUUID();
    const properties = { cpus: 16, memory_mb: '65536', local_gb: 400 };
    await this.ask('POST', '/v1/nodes', { uuid, driver: 'fake-hardware', resource_class: resourceClass, properties });
    await this.ask('PUT', `/v1/nodes/${uuid}/traits`, { traits });
    await this.provision(uuid, 'manage', 'manageable');
    // Fake hardware has no power state before it is switched.
    await this.ask('PUT', `/v1/nodes/${uuid}/states/power`, { target: 'power off' });
    await this.until(uuid, ({ power_state }) => power_state === 'power off');
    await this.provision(uuid, 'provide', 'available');
    return uuid;
  }

  async node(uuid: string): Promise<ShownNode> {
    return (await this.ask('GET', `/v1/nodes/${uuid}`)) as ShownNode;
  }

  async nodes(): Promise<readonly ShownNode[]> {
    const { nodes } = (await this.ask('GET', '/v1/nodes/detail')) as { nodes: ShownNode[] };
    return nodes;
  }

  /** Orders a provision state, and waits for what follows from it. */
  async provision(uuid: string, target: string, state: string): Promise<void> {
    await this.ask('PUT', `/v1/nodes/${uuid}/states/provision`, { target });
    await this.until(uuid, ({ provision_state }) => provision_state === state);
  }

  /** @throws Error with the node when it is not so in time */
  async until(uuid: string, isSo: (node: ShownNode) => boolean): Promise<ShownNode> {
    const untilMs = clock.elapsed() + TIMEOUT_MS;
    for (;;) {
      const node = await this.node(uuid);
      if (isSo(node)) return node;
      if (clock.elapsed() > untilMs) throw new Error(`node ${uuid} is ${JSON.stringify(node)}`);
      await sleep(clock, POLL_MS);
    }
  }
}
