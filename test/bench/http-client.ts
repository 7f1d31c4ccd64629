import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** An answer; the body is not parsed. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/**
 * A keep-alive connection for one request at a time. Client and server share the machine, so it works as little as
 * possible: requests are prepared beforehand, and only status and length of an answer are read. It supports answers
 * with a `content-length` and those without a body.
 */
export class HttpConnection {
  readonly #socket: Socket;
  #chunks: Buffer[] = [];
  #received = 0;
  #expected: number | undefined;
  #settle: { readonly resolve: (answer: HttpAnswer) => void; readonly reject: (error: Error) => void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket.setNoDelay();
    socket.on('data', (chunk) => this.#onData(chunk));
    socket.on('error', (error) => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error('the server closed the connection')));
  }

  static async open(port: number): Promise<HttpConnection> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new HttpConnection(socket);
  }

  send(request: string): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#settle = undefined;
    this.#socket.destroy();
  }

  #onData(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    if (this.#expected === undefined) {
      this.#join();
      this.#expected = lengthOf(this.#chunks[0] as Buffer);
    }
    if (this.#expected === undefined || this.#received < this.#expected) return;
    const answer = this.#join();
    this.#chunks = [];
    this.#received = 0;
    this.#expected = undefined;
    const body = answer.subarray(answer.indexOf(END_OF_HEADERS) + END_OF_HEADERS.length);
    this.#settle?.resolve({ status: Number(answer.toString('latin1', 9, 12)), body });
  }

  #join(): Buffer {
    if (this.#chunks.length > 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] as Buffer;
  }
}

const END_OF_HEADERS = '\r\n\r\n';
const MEBIBYTE = 1_048_576;

/** The length of headers and body together; undefined while the headers are incomplete. */
function lengthOf(start: Buffer): number | undefined {
  const end = start.indexOf(END_OF_HEADERS);
  if (end < 0 && start.length < MEBIBYTE) return undefined;
  const length = /\r\ncontent-length: (\d+)/i.exec(start.toString('latin1', 0, end));
  return end + END_OF_HEADERS.length + Number(length?.[1] ?? 0);
}

/** The bytes of a request. */
export function httpRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): string {
  const sized = body === '' ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries({ host: 'localhost', ...sized }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}
