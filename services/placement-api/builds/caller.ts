import type { Principal } from '#libs/auth/auth';
import { BerthError, invalidArgument } from '#libs/domain/errors';
import type { PolicyConfig } from '../policy/policy';

/** The sender of a request, and for whom it may speak: a tenant for its own project, an operator for all. */
export interface Caller {
  readonly userId: string;
  /** Undefined for an operator whose token has no project. */
  readonly projectId: string | undefined;
  readonly isOperator: boolean;
}

/** Least right of a route. */
export type Right = 'read' | 'write' | 'operate';

const ROLES: Readonly<Record<Exclude<Right, 'operate'>, readonly string[]>> = {
  read: ['reader', 'member'],
  write: ['member'],
};

/**
 * The caller, when its roles give it the right: `admin` and `service` are operators; `member` builds and reads, `reader`
 * reads, each in its own project.
 *
 * @throws BerthError `permission_denied / role_missing`, `/ system_scope`, `/ operators_only`.
 */
export function callerOf(
  { userId, projectId, roles, isSystemScoped }: Principal,
  right: Right,
  config: PolicyConfig,
): Caller {
  if (config.enforceScope && isSystemScoped) {
    throw denied('system_scope', 'tokens for the whole system are refused: take one of a project');
  }
  const isOperator = config.policy === 'open' || roles.has('admin') || roles.has('service');
  if (isOperator) return { userId, projectId, isOperator };
  if (right === 'operate') throw denied('operators_only', 'this is for the roles admin and service');
  if (projectId === undefined || !ROLES[right].some((role) => roles.has(role))) {
    throw denied('role_missing', `this needs a token of a project with the role ${ROLES[right].join(' or ')}`);
  }
  return { userId, projectId, isOperator };
}

/**
 * The project that a request is about: a tenant's own, whatever it names; undefined for all, which only operators see.
 *
 * @throws BerthError `permission_denied / wrong_project`.
 */
export function projectOf({ projectId, isOperator }: Caller, asked: string | undefined): string | undefined {
  if (isOperator) return asked;
  if (asked === undefined || asked === projectId) return projectId;
  throw denied('wrong_project', `the token is of project ${projectId}, not ${asked}`);
}

/** The project to build for: the named one, or the token's. @throws BerthError as `projectOf`; `invalid_argument / missing_field`. */
export function projectToBuildFor(caller: Caller, asked: string | undefined): string {
  const projectId = projectOf(caller, asked) ?? caller.projectId;
  if (projectId === undefined)
    throw invalidArgument('missing_field', 'project_id must be given: the token has no project', 'project_id');
  return projectId;
}

function denied(reason: string, message: string): BerthError {
  return new BerthError('permission_denied', reason, message);
}
