/** An HTTP request with a JSON body. */
export interface JsonRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Aborts the request and the reading of its answer. */
  readonly signal: AbortSignal;
}

/** An answer of any status, completely read. */
export interface JsonAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined for a body that is not JSON. */
  readonly body: unknown;
}

/**
 * Sends an HTTP request by `fetch` (undici, as Node ships it). Redirects are returned, not followed: following one
 * would send tokens to an arbitrary host.
 *
 * @throws the error of `fetch` without an answer
 */
export async function fetchJson(
  url: string,
  { method = 'GET', headers, body, signal }: JsonRequest,
): Promise<JsonAnswer> {
  const sent = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(url, {
    method,
    headers: { accept: 'application/json', ...sent, ...headers },
    body: body === undefined ? null : JSON.stringify(body),
    redirect: 'manual',
    signal,
  });
  return { status: response.status, headers: response.headers, body: jsonOf(await response.text()) };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
