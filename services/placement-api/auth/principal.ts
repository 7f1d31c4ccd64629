/** Who sends a request, as its token says. */
export interface Principal {
  readonly userId: string;
  /** Undefined when the token has no project (system scope). */
  readonly projectId: string | undefined;
  /** Lower-case role names, implied ones included. */
  readonly roles: ReadonlySet<string>;
  /** The token is for the whole system, not for a project; Placement refuses those while scopes are enforced. */
  readonly isSystemScoped: boolean;
}

/**
 * Finds out who sends a request from its headers (lower-case names).
 *
 * @throws HttpError 401 when it does not say or the token is not good, 503 when the identity service is away.
 */
export type Authenticate = (headers: Readonly<Record<string, string | string[] | undefined>>) => Promise<Principal>;
