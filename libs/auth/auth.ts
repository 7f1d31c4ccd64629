import type { IncomingHttpHeaders } from 'node:http';

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

/** A strategy of authentication, in service. */
export interface Auth {
  readonly authenticate: Authenticate;
  /** Aborts calls to the identity service; requests that wait for them are answered 503. */
  close(): Promise<void>;
}
