/** `GET /api/session`: who is signed in. */
export interface Session {
  readonly userId: string;
  readonly projectId: string;
  readonly roles: readonly string[];
  /** May act; else may only see. */
  readonly mayAct: boolean;
  /** Sent back in the header `x-csrf-token` with each action. */
  readonly csrfToken: string;
  /** How one signs in. */
  readonly auth: 'noauth' | 'tokens' | 'keystone';
}

/** The body of every refusal. */
export interface Problem {
  readonly code: string;
  readonly reason: string;
  readonly message: string;
}
