import { connect as connectClient } from '#libs/client/connect';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DeployedCredentials, deployedCredentials } from '#libs/testing/servers/credentials';
import type { TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';

/** The processes that an attack must not end. */
export const SERVICES = ['scheduler', 'conductor'] as const;

/** A cell under attack: a broker with the deployed users and rights, a store, a scheduler, a conductor and the agent of host-1. */
export class AttackedCell {
  readonly #children = new Map<string, Child>();

  private constructor(
    readonly broker: RabbitmqServer,
    readonly credentials: DeployedCredentials,
    private readonly redis: TestServer,
  ) {}

  /**
   * @param attackers  users besides those of the services and of another tenant
   * @param settings  of rabbitmq.conf
   */
  static async start(attackers: readonly string[], settings: Readonly<Record<string, string>> = {}) {
    const credentials = deployedCredentials([...attackers, 'project.demo', 'agent.host-1']);
    const config = { load_definitions: credentials.definitionsFile, ...settings };
    const [broker, redis] = await Promise.all([startRabbitmq({ config }), startRedis()]);
    const cell = new AttackedCell(broker, credentials, redis);
    try {
      for (const name of SERVICES) await cell.#launch(name, name, { BERTH_STORE_URL: redis.url });
      await cell.#launch('compute-agent', 'agent.host-1', { BERTH_AGENT_HOST: 'host-1' });
    } catch (thrown) {
      await cell.stop();
      throw thrown;
    }
    return cell;
  }

  urlOf(user: string): string {
    return this.credentials.brokerUrl(user, this.broker.port);
  }

  child(name: string): Child {
    const child = this.#children.get(name);
    if (child === undefined) throw new Error(`there is no process '${name}'`);
    return child;
  }

  /** Another tenant builds, and ends what it built; resolves to the state of the build. */
  async buildForAnother(): Promise<string | undefined> {
    const client = await connectClient({ url: this.urlOf('project.demo') });
    try {
      const spec = { projectId: 'demo', userId: 'u', resources: { VCPU: 1 } };
      const [event] = await client.buildAndWait({ spec, count: 1 }, { timeoutMs: 30_000 });
      if (event?.state === 'active') await client.terminateAndWait(event.instanceUuid, { timeoutMs: 30_000 });
      return event?.state;
    } finally {
      await client.close();
    }
  }

  async stop(): Promise<void> {
    for (const child of this.#children.values()) child.process.kill('SIGKILL');
    await Promise.all([this.broker.stop(), this.redis.stop()]);
    this.credentials.remove();
  }

  async #launch(name: string, user: string, env: Readonly<Record<string, string>>): Promise<void> {
    const child = startChild('services/cli/main.ts', [name], { ...env, BERTH_BUS_URL: this.urlOf(user) });
    this.#children.set(name, child);
    await child.says('"msg":"running"');
  }
}
