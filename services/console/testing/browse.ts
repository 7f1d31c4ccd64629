/** An answer; JSON parsed. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A browser from the server's point of view: it keeps cookies and sends them back. */
export class Browse {
  readonly #cookies = new Map<string, string>();

  constructor(readonly url: string) {}

  async ask(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const sent = { cookie, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers };
    const response = await fetch(this.url + path, {
      method,
      headers: sent,
      body: body === undefined ? null : JSON.stringify(body),
    });
    for (const set of response.headers.getSetCookie()) {
      const [pair = ''] = set.split(';');
      const at = pair.indexOf('=');
      this.#cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  /** Signs in and returns the CSRF token. */
  async signIn(token: string): Promise<string> {
    const { body } = await this.ask('POST', '/api/session', { token });
    return (body as { csrfToken: string }).csrfToken;
  }

  /** Opens a stream of events. */
  async listen(path: string): Promise<Listening> {
    const abort = new AbortController();
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(this.url + path, { headers: { cookie }, signal: abort.signal });
    const chunks = response.body as unknown as AsyncIterable<Uint8Array>;
    const frames = framesOf(chunks);
    return {
      async until(event, isMeant = () => true) {
        for (;;) {
          const { value } = await frames.next();
          if (value === undefined) throw new Error(`the stream ended without ${event}`);
          if (value.event === event && isMeant(value.data as never)) return value.data as never;
        }
      },
      close: () => abort.abort(),
    };
  }
}

/** An open stream of events. */
export interface Listening {
  /** Reads until a matching event of this name; returns its data. */
  until<T>(event: string, isMeant?: (data: T) => boolean): Promise<T>;
  close(): void;
}

async function* framesOf(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ event: string; data: unknown }, undefined> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) {
      const [, event, data] = /^event: (\w+)\ndata: (.*)$/s.exec(frame) ?? [];
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) };
    }
  }
  return undefined;
}
