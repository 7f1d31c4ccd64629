import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { environment } from '../../runtime/system';
import { scriptArguments } from './child';

const ROOT = join(__dirname, '../../..');

/** Users and rights as made by `deploy/`. */
export interface DeployedCredentials {
  /** RabbitMQ's `load_definitions`. */
  readonly definitionsFile: string;
  readonly aclFile: string;
  /** The virtual host of the definitions; each has one of its own, so that many may share a broker. */
  readonly virtualHost: string;
  passwordOf(user: string): string;
  /** The URL of a user on a test's broker. */
  brokerUrl(user: string, port: number): string;
  remove(): void;
}

/** Runs `deploy/credentials.mjs` with users of agents and projects in addition to its fixed ones. */
export function deployedCredentials(users: readonly string[] = [], isCluster = false): DeployedCredentials {
  const folder = mkdtempSync(join(tmpdir(), 'berth-credentials-'));
  const passwordOf = (user: string) => `password-of-${user}`;
  const services = ['scheduler', 'conductor', 'placement', 'console', 'operator'];
  const env = {
    ...environment(),
    ...Object.fromEntries(services.map((user) => [`BERTH_${user.toUpperCase()}_PASSWORD`, passwordOf(user)])),
    BERTH_USER_PASSWORDS: users.map((user) => `${user}=${passwordOf(user)}`).join(','),
    BERTH_PLACEMENT_TOKEN: 'the-token-of-the-test',
    BERTH_BROKER_CLUSTER: isCluster ? 'on' : 'off',
  };
  const script = join(ROOT, 'deploy/credentials.mjs');
  execFileSync(process.execPath, [...scriptArguments(), script, folder], { env, cwd: ROOT, stdio: 'pipe' });
  const definitionsFile = join(folder, 'rabbitmq-definitions.json');
  const virtualHost = `berth-${randomUUID()}`;
  const definitions = readFileSync(definitionsFile, 'utf8');
  writeFileSync(definitionsFile, definitions.replaceAll(/("(?:vhost|name)": ?)"berth"/g, `$1"${virtualHost}"`));
  return {
    definitionsFile,
    virtualHost,
    aclFile: join(folder, 'redis-users.acl'),
    passwordOf,
    brokerUrl: (user, port) => `amqp://${user}:${passwordOf(user)}@127.0.0.1:${port}/${virtualHost}`,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
