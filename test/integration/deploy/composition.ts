import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { environment } from '#libs/runtime/system';
import { type Child, scriptArguments, startChild } from '#libs/testing/servers/child';
import type { TestServer } from '#libs/testing/servers/server-process';
import { type RabbitmqServer, startRabbitmq, startRedis } from '#libs/testing/servers/servers';

const ROOT = join(__dirname, '../../..');

interface Service {
  readonly command?: readonly string[];
  readonly hostname?: string;
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * A compose file's system without Docker: a private broker and a private Redis with its users and rights, and its
 * processes with their settings.
 */
export interface Composition {
  /** The URL of a user on the broker. */
  brokerUrl(user: string, password: string): string;
  /** Starts the process of a service; resolves when it runs. `more` overrides settings. */
  run(name: string, more?: Readonly<Record<string, string>>): Promise<Child>;
  stop(): Promise<void>;
}

/** Starts the servers of `deploy/docker-compose.yml`, merged with further files like compose does. */
export async function startComposition(...further: readonly string[]): Promise<Composition> {
  const files = ['docker-compose.yml', ...further].map(read);
  const folder = mkdtempSync(join(tmpdir(), 'berth-compose-'));
  const children: Child[] = [];
  const servicesOf = (name: string) => files.flatMap((services) => services[name] ?? []);
  /** / Fills in variables like compose: each has a default here. */
  const settingsOf = (name: string): Record<string, string> => {
    const all = Object.assign({}, ...servicesOf(name).map((service) => service.environment)) as Record<string, string>;
    const filled = Object.entries(all).map(([key, value]) => [key, value.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1')]);
    return Object.fromEntries(filled) as Record<string, string>;
  };
  execFileSync(process.execPath, [...scriptArguments(), join(ROOT, 'deploy/credentials.mjs'), folder], {
    env: { ...environment(), ...settingsOf('credentials') },
    cwd: ROOT,
    stdio: 'pipe',
  });
  const shipped = { configFile: join(ROOT, 'deploy/redis/redis.conf'), aclFile: join(folder, 'redis-users.acl') };
  const [broker, redis]: [RabbitmqServer, TestServer] = await Promise.all([
    startRabbitmq({ config: { load_definitions: join(folder, 'rabbitmq-definitions.json') } }),
    startRedis({ shipped }),
  ]);
  const local = (value: string) =>
    value
      .replace('rabbitmq:5672', `127.0.0.1:${broker.port}`)
      .replace('redis:6379', `127.0.0.1:${redis.port}`)
      .replace('/etc/berth/', `${folder}/`);
  return {
    brokerUrl: (user, password) => `amqp://${user}:${password}@127.0.0.1:${broker.port}/berth`,
    async run(name, more = {}) {
      const { BERTH_AGENT_STATE_DIR: _notHere, ...settings } = settingsOf(name);
      const env = Object.fromEntries(Object.entries(settings).map(([key, value]) => [key, local(value)]));
      const { hostname, command = [] } = Object.assign({}, ...servicesOf(name)) as Service;
      const host = hostname === undefined ? {} : { BERTH_AGENT_HOST: hostname };
      const child = startChild('services/cli/main.ts', command, { BERTH_HTTP_PORT: '0', ...env, ...host, ...more });
      children.push(child);
      await child.says('"msg":"running"');
      return child;
    },
    async stop() {
      for (const child of children) child.process.kill('SIGKILL');
      await Promise.all(children.map(({ exit }) => exit));
      await Promise.allSettled([broker.stop(), redis.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function read(file: string): Record<string, Service> {
  const text = readFileSync(join(ROOT, 'deploy', file), 'utf8');
  return (parse(text, { merge: true }) as { services: Record<string, Service> }).services;
}
