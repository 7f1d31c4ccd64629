/** A request by HTTP; its body goes as JSON. */
export interface JsonRequest {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Ends the request and the reading of its answer. */
  readonly signal: AbortSignal;
}

/** An answer of any status, read to its end. */
export interface JsonAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined when it is no JSON. */
  readonly body: unknown;
}

/**
 * Asks a server by HTTP, with `fetch`: undici, as Node has it. Redirects are answers: to follow one would send tokens to whatever
 * host it names.
 *
 * @throws what `fetch` throws when there is no answer
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
