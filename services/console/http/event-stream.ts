import type { ServerResponse } from 'node:http';

/** Limit of the bytes that wait for a slow browser; above it events are sent less often. */
const MAX_WAITING_BYTES = 1_048_576;

/** Server-sent events to one page. */
export class EventStream {
  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, {
      ...(response.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    response.write('retry: 1000\n\n');
  }

  /** `json` contains no line break, as `JSON.stringify` guarantees. */
  send(event: string, json: string): void {
    this.response.write(`event: ${event}\ndata: ${json}\n\n`);
  }

  /** Keeps proxies from closing a silent stream. */
  comment(): void {
    this.response.write(':\n\n');
  }

  /** True while the browser does not keep up. */
  get isBehind(): boolean {
    return this.response.writableLength > MAX_WAITING_BYTES;
  }

  end(): void {
    this.response.end();
  }
}
