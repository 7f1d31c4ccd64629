/** Why a request is not authenticated: 401 without a valid token, 429 after too many, 503 while nobody can say whether it is valid. */
export class AuthError extends Error {
  constructor(
    readonly status: 401 | 429 | 503,
    message: string,
    /** Headers of the answer: where to get a token, or when to try again. */
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = 'AuthError';
  }
}
