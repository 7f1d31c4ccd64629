import { BerthError } from '../domain/errors';

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

interface Login {
  readonly username?: string;
  readonly password?: string;
}

/** The address of a Redis: one server, the primary that Sentinels name, or a Cluster. */
export type StoreAddress =
  | { readonly kind: 'server'; readonly url: string }
  | {
      readonly kind: 'sentinel';
      readonly hasTls: boolean;
      readonly login: Login;
      readonly sentinels: readonly ServerAddress[];
      readonly sentinelLogin: Login;
      /** The Sentinels' name for the primary and its replicas. */
      readonly name: string;
    }
  | {
      readonly kind: 'cluster';
      readonly hasTls: boolean;
      readonly login: Login;
      /** Some nodes of the Cluster, from which the others are discovered. */
      readonly nodes: readonly ServerAddress[];
    };

const SENTINEL_PORT = 26_379;
const NODE_PORT = 6_379;

/**
 * Reads the URL of a store; `rediss` is TLS to every server named or found.
 *
 * - `redis://user:password@host:port/db`
 * - `redis+sentinel://user:password@host:port,host:port/name?sentinel_user=...&sentinel_password=...`, with the
 *   servers' user and password before the `@`, and the Sentinels' after it
 * - `redis+cluster://user:password@host:port,host:port`
 *
 * @throws BerthError `invalid_argument / bad_store_url`, without the URL, since it holds passwords.
 */
export function parseStoreUrl(url: string): StoreAddress {
  const parts = /^redis(s?)\+(sentinel|cluster):\/\/(?:([^@/]*)@)?([^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(url);
  if (!parts) {
    if (/^rediss?:\/\/./.test(url)) return { kind: 'server', url };
    throw badUrl('it is none of redis://, redis+sentinel:// and redis+cluster://');
  }
  const [, tls, kind, user = '', hosts = '', name = '', query = ''] = parts;
  const hasTls = tls === 's';
  const login = loginOf(user);
  const settings = new URLSearchParams(query);
  for (const setting of settings.keys()) {
    if (kind !== 'sentinel' || !SENTINEL_SETTINGS.includes(setting)) throw badUrl(`no setting is called '${setting}'`);
  }
  if (kind === 'cluster') {
    if (name !== '') throw badUrl('a Cluster has no databases: nothing may follow its hosts');
    return { kind, hasTls, login, nodes: hostsOf(hosts, NODE_PORT) };
  }
  if (name === '') throw badUrl('the name of the primary must follow the Sentinels, as in redis+sentinel://host/name');
  const [sentinelUser, sentinelPassword] = SENTINEL_SETTINGS.map((setting) => settings.get(setting));
  const sentinelLogin = {
    ...(sentinelUser ? { username: sentinelUser } : {}),
    ...(sentinelPassword ? { password: sentinelPassword } : {}),
  };
  const sentinels = hostsOf(hosts, SENTINEL_PORT);
  return { kind: 'sentinel', hasTls, login, sentinels, sentinelLogin, name: decodeURIComponent(name) };
}

const SENTINEL_SETTINGS = ['sentinel_user', 'sentinel_password'];

function loginOf(user: string): Login {
  const [username = '', ...password] = user.split(':');
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password.length === 0 ? {} : { password: decodeURIComponent(password.join(':')) }),
  };
}

function hostsOf(list: string, defaultPort: number): ServerAddress[] {
  return list.split(',').map((text) => {
    const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/.exec(text);
    if (!parts) throw badUrl(`'${text}' is no host and port`);
    return { host: parts[1] ?? parts[2] ?? '', port: parts[3] === undefined ? defaultPort : Number(parts[3]) };
  });
}

function badUrl(why: string): BerthError {
  return new BerthError('invalid_argument', 'bad_store_url', `BERTH_STORE_URL can't be used: ${why}`);
}
