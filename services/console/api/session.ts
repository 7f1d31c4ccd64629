/** `GET /api/session`: the signed-in user. */
export interface Session {
  readonly userId: string;
  readonly projectId: string;
  readonly roles: readonly string[];
  /** True for a user who may act; others may only look. */
  readonly mayAct: boolean;
  /** Sent back in the header `x-csrf-token` with each action. */
  readonly csrfToken: string;
  /** The way of signing in. */
  readonly auth: 'noauth' | 'tokens' | 'keystone';
}

/** The body of every refusal. */
export interface Problem {
  readonly code: string;
  readonly reason: string;
  readonly message: string;
}
