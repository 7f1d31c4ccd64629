import { rightsOf } from '#libs/bus/broker-users';
import { type RestrictedIdentity, userOf } from '#libs/contracts/identity';
import { BerthError } from '#libs/domain/errors';
import { fetchJson, type JsonRequest } from '#libs/runtime/fetch-json';

/** RabbitMQ's management API: https://www.rabbitmq.com/docs/http-api-reference */
export interface ManagementAddress {
  readonly url: string;
  readonly user: string;
  readonly password: string;
  readonly vhost: string;
}

const TIMEOUT_MS = 10_000;

/** Makes and revokes the broker's users of agents and tenants. */
export class BrokerManagement {
  constructor(private readonly address: ManagementAddress) {}

  /** The names of all users. Errors as in `#ask`. */
  async users(): Promise<string[]> {
    const users = (await this.#ask('GET', '/users')) as { name: string }[];
    return users.map(({ name }) => name);
  }

  /** Creates the user with its rights, or changes an existing one's password. */
  async putUser(identity: RestrictedIdentity, cell: string, password: string): Promise<void> {
    const user = encodeURIComponent(userOf(identity, cell));
    const vhost = encodeURIComponent(this.address.vhost);
    const { topics, ...permission } = rightsOf(identity, cell);
    await this.#ask('PUT', `/users/${user}`, { password, tags: '' });
    // Topics first: without topic permissions RabbitMQ would allow all of them.
    for (const topic of topics) await this.#ask('PUT', `/topic-permissions/${vhost}/${user}`, topic);
    await this.#ask('PUT', `/permissions/${vhost}/${user}`, permission);
  }

  /** Removes the user and closes its connections. @throws BerthError `not_found / no_such_user`. */
  async removeUser(name: string): Promise<void> {
    await this.#ask('DELETE', `/users/${encodeURIComponent(name)}`);
    const all = (await this.#ask('GET', '/connections')) as { name: string; user: string }[];
    for (const { name: connection } of all.filter(({ user }) => user === name)) {
      await this.#ask('DELETE', `/connections/${encodeURIComponent(connection)}`).catch(wasGone);
    }
  }

  /**
   * @throws BerthError `unavailable / management_unreachable`, `permission_denied / management_refused`, `not_found /
   *   no_such_user`, `internal / unexpected_answer`.
   */
  async #ask(method: Required<JsonRequest>['method'], path: string, body?: object): Promise<unknown> {
    const { url, user, password } = this.address;
    const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    const answer = await fetchJson(`${url.replace(/\/+$/, '')}/api${path}`, {
      method,
      headers: { authorization },
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((cause: unknown) => {
      const hint = 'is the plugin rabbitmq_management enabled, and is BERTH_BROKER_MANAGEMENT_URL right?';
      const message = `RabbitMQ's management API at ${url} cannot be reached`;
      throw new BerthError('unavailable', 'management_unreachable', message, { details: { hint }, cause });
    });
    if (answer.status >= 200 && answer.status < 300) return answer.body;
    throw refusal(answer.status, `${method} ${path}`);
  }
}

function refusal(status: number, what: string): BerthError {
  switch (status) {
    case 401:
    case 403: {
      const hint = 'the user of BERTH_BUS_URL must have the tag administrator';
      const message = `RabbitMQ's management API answered ${status}`;
      return new BerthError('permission_denied', 'management_refused', message, { details: { hint } });
    }
    case 404:
      return new BerthError('not_found', 'no_such_user', `there is nothing to ${what} on the broker`);
    default:
      return new BerthError('internal', 'unexpected_answer', `RabbitMQ's management API answered ${status} to ${what}`);
  }
}

/** A connection that closed by itself meanwhile. */
function wasGone(thrown: unknown): void {
  if (BerthError.from(thrown).code !== 'not_found') throw thrown;
}
