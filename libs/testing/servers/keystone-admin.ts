import type { KeystoneServer } from './keystone';

/** The scope of a token; undefined for an unscoped one. */
export type Scope =
  | { readonly project: { readonly id: string } }
  | { readonly domain: { readonly id: 'default' } }
  | { readonly system: { readonly all: true } };

export interface TestUser {
  readonly id: string;
  readonly name: string;
  readonly password: string;
}

/** Keystone's API for tests, with the rights of its first user. */
export class KeystoneAdmin {
  readonly #url: string;
  readonly #token: string;

  private constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  static async open({ url, adminPassword }: KeystoneServer): Promise<KeystoneAdmin> {
    const user = { name: 'admin', domain: { id: 'default' }, password: adminPassword };
    const identity = { methods: ['password'], password: { user } };
    const { token } = await post(url, '/auth/tokens', { auth: { identity, scope: { system: { all: true } } } });
    return new KeystoneAdmin(url, token);
  }

  async createProject(name: string): Promise<string> {
    return idOf(await this.send('POST', '/projects', { project: { name, domain_id: 'default' } }), 'project');
  }

  async createRole(name: string): Promise<string> {
    return idOf(await this.send('POST', '/roles', { role: { name } }), 'role');
  }

  async roleId(name: string): Promise<string> {
    const { roles } = (await this.send('GET', `/roles?name=${name}`)) as { readonly roles: readonly [{ id: string }] };
    return roles[0].id;
  }

  async createUser(name: string): Promise<TestUser> {
    const password = `password of ${name}`;
    const user = { name, password, domain_id: 'default' };
    return { id: idOf(await this.send('POST', '/users', { user }), 'user'), name, password };
  }

  /** Gives a user a role in a scope: `/projects/ID`, `/domains/default`, `/system`. */
  async grant(place: string, userId: string, roleId: string): Promise<void> {
    await this.send('PUT', `${place}/users/${userId}/roles/${roleId}`);
  }

  /** A token of a user, by password. */
  async issueToken({ id, password }: TestUser, scope?: Scope): Promise<string> {
    const identity = { methods: ['password'], password: { user: { id, password } } };
    const auth = scope === undefined ? { identity } : { identity, scope };
    return (await post(this.#url, '/auth/tokens', { auth })).token;
  }

  /** A token from an application credential of its user that only permits listing servers. */
  async issueRestrictedToken(user: TestUser, token: string): Promise<string> {
    const rule = { path: '/v2.1/servers', method: 'GET', service: 'compute' };
    const credential = { name: 'restricted', secret: 'restricted', access_rules: [rule] };
    const path = `/users/${user.id}/application_credentials`;
    const made = await post(this.#url, path, { application_credential: credential }, token);
    const id = idOf(made.body, 'application_credential');
    const identity = { methods: ['application_credential'], application_credential: { id, secret: credential.secret } };
    return (await post(this.#url, '/auth/tokens', { auth: { identity } })).token;
  }

  async revoke(token: string): Promise<void> {
    await this.send('DELETE', '/auth/tokens', undefined, { 'x-subject-token': token });
  }

  /** Revokes all tokens of a user. */
  async revokeAll(userId: string): Promise<void> {
    for (const enabled of [false, true]) await this.send('PATCH', `/users/${userId}`, { user: { enabled } });
  }

  private async send(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
    return (await call(this.#url, method, path, body, { 'x-auth-token': this.#token, ...headers })).body;
  }
}

function post(url: string, path: string, body: object, token?: string) {
  return call(url, 'POST', path, body, token === undefined ? {} : { 'x-auth-token': token });
}

async function call(url: string, method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/v3${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`Keystone answered ${method} ${path} with ${response.status}: ${text}`);
  return {
    token: response.headers.get('x-subject-token') ?? '',
    body: text === '' ? undefined : (JSON.parse(text) as unknown),
  };
}

function idOf(body: unknown, noun: string): string {
  return (body as Readonly<Record<string, { readonly id: string }>>)[noun]?.id ?? '';
}
