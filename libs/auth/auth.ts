import type { IncomingHttpHeaders } from 'node:http';
import type { Running } from '../runtime/service';

/** The sender of a request, as its token says. */
export interface Principal {
  readonly userId: string;
  /** Undefined when the token has no project (system scope). */
  readonly projectId: string | undefined;
  /** Lower-case role names, implied roles included. */
  readonly roles: ReadonlySet<string>;
  /** The token has system scope, not a project; Placement refuses those while scopes are enforced. */
  readonly isSystemScoped: boolean;
}

/**
 * Determines the sender of a request from its headers.
 *
 * @throws AuthError 401 without a valid token, 503 when the identity service is unavailable.
 */
export type Authenticate = (headers: IncomingHttpHeaders) => Promise<Principal>;

/** Reasons why the identity service validates no tokens. */
export const AUTH_PROBLEMS = ['keystone_unavailable', 'login_refused', 'validation_refused'] as const;
export type AuthProblem = (typeof AUTH_PROBLEMS)[number];

/** A strategy of authentication, in service. */
export interface Auth {
  readonly authenticate: Authenticate;
  /** The present reason why tokens can't be validated; undefined while they can. */
  problem(): AuthProblem | undefined;
  /** Not ready while the identity service refuses the credentials of this service, or has not been asked yet. */
  readiness: Running['readiness'];
  /** Aborts calls to the identity service; requests that wait for them are answered 503. */
  close(): Promise<void>;
}
