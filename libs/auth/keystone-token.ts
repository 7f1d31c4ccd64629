import type { Principal } from './auth';

/** The principal and the expiry (milliseconds since the epoch) of a token. */
export interface TokenFacts {
  readonly principal: Principal;
  readonly expiresAtMs: number;
}

/**
 * Reads the body of Keystone's answer about a token; undefined when it has another form. Keystone lists implied roles, too.
 * Roles in a domain are left out: they grant nothing here, because Placement knows projects only.
 */
export function readTokenFacts(body: unknown): TokenFacts | undefined {
  const token = fieldsOf(fieldsOf(body)?.['token']);
  const userId = fieldsOf(token?.['user'])?.['id'];
  const expiresAtMs = Date.parse(String(token?.['expires_at']));
  if (token === undefined || typeof userId !== 'string' || Number.isNaN(expiresAtMs)) return undefined;
  const projectId = fieldsOf(token['project'])?.['id'];
  const isDomainScoped = token['domain'] !== undefined;
  const principal: Principal = {
    userId,
    projectId: typeof projectId === 'string' ? projectId : undefined,
    roles: new Set(isDomainScoped ? [] : roleNames(token['roles'])),
    isSystemScoped: fieldsOf(token['system'])?.['all'] === true,
  };
  return { principal, expiresAtMs };
}

function roleNames(roles: unknown): readonly string[] {
  const names = Array.isArray(roles) ? roles.map((role) => fieldsOf(role)?.['name']) : [];
  return names.filter((name) => typeof name === 'string').map((name) => name.toLowerCase());
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
}
