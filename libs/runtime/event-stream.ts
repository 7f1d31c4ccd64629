import type { ServerResponse } from 'node:http';

/** Interval of keep-alives, which streams of a token also check it at. */
export const KEEP_ALIVE_MS = 15_000;
/** Keep-alives that may wait for a client, so a minute's. */
const MOST_UNREAD = 4;

/**
 * Server-sent events to one client. A keep-alive waits behind all that was sent before it: a client that takes too few bytes for
 * several of them is gone for all that its server can tell, and its connection is closed, so that it frees its place.
 */
export class EventStream {
  #unread = 0;

  /** @param headers  those that the framework has set on its own answer */
  constructor(
    private readonly response: ServerResponse,
    headers: Readonly<Record<string, number | string | string[] | undefined>> = {},
  ) {
    response.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    response.write('retry: 1000\n\n');
  }

  /** False while the client does not keep up. `json` contains no line break, as `JSON.stringify` guarantees. */
  send(event: string, json: string, id?: string): boolean {
    const named = id === undefined ? '' : `id: ${id}\n`;
    return this.response.write(`event: ${event}\n${named}data: ${json}\n\n`);
  }

  /** Keeps proxies from closing a silent stream, and closes the connection of a client that reads too little. */
  keepAlive(): void {
    if (this.#unread === MOST_UNREAD) {
      this.response.destroy();
      return;
    }
    this.#unread++;
    this.response.write(':\n\n', () => this.#unread--);
  }

  get waitingBytes(): number {
    return this.response.writableLength;
  }

  /** Resolves when a slow client has read on, or is gone. */
  drained(signal: AbortSignal): Promise<void> {
    const { response } = this;
    return new Promise((resolve) => {
      const done = () => {
        response.off('drain', done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      response.once('drain', done);
      signal.addEventListener('abort', done, { once: true });
      if (signal.aborted) done();
    });
  }

  end(): void {
    this.response.end();
  }
}
