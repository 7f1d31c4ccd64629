import { KeystoneHttp } from '#libs/auth/keystone-http';
import { KeystoneLogin } from '#libs/auth/keystone-login';
import { BerthError } from '#libs/domain/errors';
import type { ConfigOf } from '#libs/runtime/config';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { baremetalOptions } from './baremetal-options';
import type { IronicLogin } from './ironic/ironic-api';
import { askOverHttp } from './redfish/redfish-http';
import { classOf, fileSource } from './sources/file-source';
import { ironicSource } from './sources/ironic-source';
import type { NodeSource } from './sources/node-source';
import { redfishSource } from './sources/redfish-source';

const REDFISH = 'redfish+';
const IRONIC = 'ironic+';

type Config = ConfigOf<typeof baremetalOptions>;
type Deps = Pick<RuntimeDeps, 'clock' | 'log'>;

/** The configured source of a pool's nodes. @throws BerthError `invalid_argument / bad_config`. */
export function nodeSource(config: Config, deps: Deps): NodeSource {
  const { nodes, nodeClass, redfishUser: user, redfishPassword: password, redfishTimeoutMs: timeoutMs } = config;
  const { clock } = deps;
  if (nodes === '') {
    const message =
      'BERTH_AGENT_NODES must name the nodes of the pool: a file, redfish+http(s)://HOST or ironic+http(s)://HOST';
    throw new BerthError('invalid_argument', 'bad_config', message);
  }
  const resourceClass = nodeClass === '' ? '' : classOf(nodeClass);
  const rootAfter = (prefix: string) => nodes.slice(prefix.length).replace(/\/+$/, '');
  if (nodes.startsWith(IRONIC)) {
    const root = rootAfter(IRONIC);
    const { ironicTimeoutMs, nodePollMs: pollMs } = config;
    const instanceInfo = parseInstanceInfo(config.ironicInstanceInfo);
    const login = ironicLogin(config, deps);
    return ironicSource({ root, resourceClass, login, timeoutMs: ironicTimeoutMs, clock, pollMs, instanceInfo });
  }
  const login = { user, password, timeoutMs, clock, ask: askOverHttp(config.redfishCaFile) };
  if (!nodes.startsWith(REDFISH)) return fileSource(nodes, resourceClass, login);
  return redfishSource(rootAfter(REDFISH), resourceClass, login);
}

const REFUSED_CACHE_MS = 10_000;

function ironicLogin(config: Config, deps: Deps): IronicLogin {
  const { ironicUsername: user, ironicPassword: password, ironicKeystoneUrl: keystoneUrl } = config;
  if (password === '') return { kind: 'none' };
  if (keystoneUrl === '') return { kind: 'basic', user, password };
  const at = { keystoneUrl, keystoneTimeoutMs: config.ironicTimeoutMs };
  const account = {
    keystoneUsername: user,
    keystonePassword: password,
    keystoneProject: config.ironicProject,
    keystoneUserDomain: config.ironicUserDomain,
    keystoneProjectDomain: config.ironicProjectDomain,
    keystoneRefusedCacheMs: REFUSED_CACHE_MS,
  };
  return { kind: 'keystone', tokens: new KeystoneLogin(new KeystoneHttp(at, deps), { ...at, ...account }, deps) };
}

/** Names that need no escape in a JSON pointer. */
const FIELD = /^[A-Za-z0-9_]{1,100}$/;

function parseInstanceInfo(text: string): Readonly<Record<string, unknown>> {
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (isObject && Object.keys(value).every((name) => FIELD.test(name))) return value as Record<string, unknown>;
  } catch {
    // Refused below.
  }
  const message =
    'BERTH_AGENT_IRONIC_INSTANCE_INFO must be a JSON object with names of letters, digits and underscores';
  throw new BerthError('invalid_argument', 'bad_config', message);
}
