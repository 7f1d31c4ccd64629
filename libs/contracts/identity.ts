import { DEFAULT_CELL, TOP } from '../domain/cells/cell';
import { BerthError } from '../domain/errors';
import { cellOf, inCell, withoutCell } from './cells';
import { MAX_HOSTS_PER_AGENT } from './limits';

/**
 * Sender of a message, as the broker knows it: the user's name says for whom it may speak.
 *
 * - `service`  one of Berth's own processes, or an operator: may act for everybody. Any user whose name says nothing else
 * - `agent`    the compute agent of a host; with `carriesOthers` also of the hosts `<host>-<number>` that it carries
 * - `agent` with `pool`  one of the agents that share a pool: by name it is no host's. Which nodes it may report for is said by
 *              their leases in the store (`libs/placement/holders.ts`)
 * - `project`  a tenant: may act for its project
 * - `nobody`   the broker does not vouch for it: may do nothing
 */
export type Identity =
  | { readonly kind: 'service' }
  | { readonly kind: 'agent'; readonly host: string; readonly carriesOthers: boolean; readonly pool?: string }
  | { readonly kind: 'project'; readonly projectId: string }
  | { readonly kind: 'nobody' };

export const SERVICE: Identity = { kind: 'service' };
export const NOBODY: Identity = { kind: 'nobody' };

/** Senders with restricted users of their own; a service's user may do more. */
export type RestrictedIdentity = Extract<Identity, { kind: 'agent' | 'project' }>;

/** An agent of a pool. */
export type PoolAgent = Extract<Identity, { kind: 'agent' }> & { readonly pool: string };

/** The names of hosts and projects that can have a user: they stand, twice, in routing keys of 255 bytes. */
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/;
/** Names of pools whose agents can have users: one word of such a user's name, before the agent's. */
const POOL = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/;
const POOL_PREFIX = 'pool-';

/** The name of the broker's user of a host or a project of a cell. */
export function userOf(identity: RestrictedIdentity, cell = DEFAULT_CELL): string {
  if (identity.kind === 'project') return inCell(cell, `project.${identity.projectId}`);
  return inCell(cell, `${agentWord(identity)}.${identity.host}`);
}

function agentWord({ carriesOthers, pool }: Extract<Identity, { kind: 'agent' }>): string {
  if (pool !== undefined) return POOL_PREFIX + pool;
  return carriesOthers ? 'service-host' : 'agent';
}

/**
 * The users of consoles and placement APIs: services to whom they speak to, though the broker lets them do little more
 * than a tenant.
 */
export const CONSOLE_USER = 'console';
export const PLACEMENT_USER = 'placement';
const AT_THE_ENTRANCE: readonly string[] = [CONSOLE_USER, PLACEMENT_USER];

/** The users of services that belong to one cell, each under its cell's name. */
const SERVICE_USERS: readonly string[] = ['scheduler', 'conductor', ...AT_THE_ENTRANCE];

/**
 * Identity of the broker's user of this name in a cell. A user of another cell speaks for nobody there. Exceptions: services
 * of the top, who hand builds to all cells, and users named after no cell's service, such as `guest` and `operator`.
 */
export function identityOf(user: string, cell = DEFAULT_CELL): Identity {
  const [its, name] = [cellOf(user), withoutCell(user)];
  const identity = identityByName(name);
  if (its === cell || (identity.kind === 'service' && its === TOP)) return identity;
  const isAnyCells = its === DEFAULT_CELL && identity.kind === 'service' && !SERVICE_USERS.includes(name);
  return isAnyCells ? SERVICE : NOBODY;
}

function identityByName(user: string): Identity {
  const dot = user.indexOf('.');
  const [word, name] = [user.slice(0, Math.max(0, dot)), user.slice(dot + 1)];
  if (word.startsWith(POOL_PREFIX)) {
    return { kind: 'agent', host: name, carriesOthers: false, pool: word.slice(POOL_PREFIX.length) };
  }
  switch (word) {
    case 'agent':
      return { kind: 'agent', host: name, carriesOthers: false };
    case 'service-host':
      return { kind: 'agent', host: name, carriesOthers: true };
    case 'project':
      return { kind: 'project', projectId: name };
    default:
      return SERVICE;
  }
}

/** True for agents and tenants. */
export function isRestricted(identity: Identity): identity is RestrictedIdentity {
  return identity.kind === 'agent' || identity.kind === 'project';
}

/**
 * True if a user of this name declares only its private queues, and sends through the entrances of queues because the
 * broker does not let it write to queues themselves.
 */
export function sendsByEntrances(user: string): boolean {
  return AT_THE_ENTRANCE.includes(withoutCell(user)) || isRestricted(identityOf(user, cellOf(user)));
}

/** True if a host or project of this name can have a user. */
export function canHaveUser(name: string): boolean {
  return NAME.test(name);
}

/** True if the agents of a pool of this name can have users. */
export function canHaveAgents(pool: string): boolean {
  return POOL.test(pool);
}

/** True for an agent of a pool. */
export function isPoolAgent(identity: Identity): identity is PoolAgent {
  return identity.kind === 'agent' && identity.pool !== undefined;
}

/** True if the sender may act as a service host: take its orders, its place in a pool. */
export function speaksForServiceHost(identity: Identity, serviceHost: string): boolean {
  return isPoolAgent(identity) ? serviceHost === identity.host : speaksForHost(identity, serviceHost);
}

/** True if a host is, by its name, the sender's to report for. */
export function speaksForHost(identity: Identity, host: string): boolean {
  switch (identity.kind) {
    case 'service':
      return true;
    case 'agent':
      if (isPoolAgent(identity)) return false;
      return host === identity.host || (identity.carriesOthers && carries(identity.host, host));
    case 'project':
    case 'nobody':
      return false;
  }
}

/** True if the sender may act for a project. */
export function speaksForProject(identity: Identity, projectId: string): boolean {
  return identity.kind === 'service' || (identity.kind === 'project' && identity.projectId === projectId);
}

/**
 * True when a service host of this name may carry that host beside itself: agents name what they carry like this, `rack-1` or `rack-001`,
 * and none of them has more than there are such names.
 */
export function carries(serviceHost: string, host: string): boolean {
  return host.startsWith(`${serviceHost}-`) && isCarriedNumber(host.slice(serviceHost.length + 1));
}

function isCarriedNumber(digits: string): boolean {
  return /^\d{1,5}$/.test(digits) && Number(digits) >= 1 && Number(digits) <= MAX_HOSTS_PER_AGENT;
}

/** @throws BerthError `permission_denied / wrong_host` when a host is not, by its name, the sender's to report for. */
export function requireHost(identity: Identity, host: string): void {
  if (!speaksForHost(identity, host)) throw wrongHost(identity, host);
}

/** @throws BerthError `permission_denied / wrong_host` when a service host is not the sender's to act as. */
export function requireServiceHost(identity: Identity, serviceHost: string): void {
  if (!speaksForServiceHost(identity, serviceHost)) throw wrongHost(identity, serviceHost);
}

/** The refusal of a report for another's host. */
export function wrongHost(identity: Identity, host: string): BerthError {
  const message = `${nameOf(identity)} may not report for host ${host}${hintFor(identity, host)}`;
  return new BerthError('permission_denied', 'wrong_host', message, { details: { field: 'host' } });
}

/** Names what a service host may carry to one that carries others. */
function hintFor(identity: Identity, host: string): string {
  if (identity.kind !== 'agent' || !identity.carriesOthers || !host.startsWith(`${identity.host}-`)) return '';
  return `: it carries ${identity.host}-1 to ${identity.host}-${MAX_HOSTS_PER_AGENT}; another service host carries more`;
}

/** @throws BerthError `permission_denied / wrong_project` when a project is not the sender's to act for. */
export function requireProject(identity: Identity, projectId: string): void {
  if (speaksForProject(identity, projectId)) return;
  const message = `${nameOf(identity)} may not act for project '${projectId}'`;
  throw new BerthError('permission_denied', 'wrong_project', message, { details: { field: 'project_id' } });
}

/**
 * For what only some contents of a message ask for: whole types are refused by their rule (`message-rules.ts`).
 *
 * @throws BerthError `permission_denied / services_only`.
 */
export function requireService(identity: Identity, type: string): void {
  if (identity.kind === 'service') return;
  throw new BerthError('permission_denied', 'services_only', `${nameOf(identity)} may not send ${type}`);
}

/** The identity in words. */
export function nameOf(identity: Identity): string {
  switch (identity.kind) {
    case 'service':
      return 'a service';
    case 'agent':
      return isPoolAgent(identity)
        ? `agent ${identity.host} of pool ${identity.pool}`
        : `the agent of host ${identity.host}`;
    case 'project':
      return `project ${identity.projectId}`;
    case 'nobody':
      return 'nobody that the broker knows';
  }
}
