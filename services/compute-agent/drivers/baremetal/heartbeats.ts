import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BerthError } from '#libs/domain/errors';
import type { Log } from '#libs/runtime/log';
import type { BootProof, Expectation, ExpectedBoot } from './boot-watch';

/** The endpoint for reports of booted systems. */
export interface Heartbeats extends BootProof {
  readonly url: string;
  close(): Promise<void>;
}

export interface HeartbeatSettings {
  readonly host: string;
  readonly port: number;
  /** Known only to the images that nodes boot. */
  readonly secret: string;
  readonly log: Log;
}

interface Awaited extends ExpectedBoot {
  readonly nonce: string;
  word: Expectation['word'];
}

const PATH = /^\/v1\/boots\/([^/?]{1,255})$/;
const MAX_BODY_BYTES = 4_096;
const MAX_WHY = 300;

/**
 * Serves heartbeats over HTTP. An image asks for its machine's expected boot, by the firmware's uuid, and gets a nonce,
 * new for each boot. When its work is done it reports its boot device, and signs machine, device and nonce with the
 * secret (HMAC-SHA256). So a disk that boots in its place can neither forge the report nor replay an earlier one.
 *
 * @throws BerthError `failed_precondition / cannot_listen`
 */
export async function serveHeartbeats({ host, port, secret, log }: HeartbeatSettings): Promise<Heartbeats> {
  const awaited = new Set<Awaited>();
  const server = createServer((request, response) => {
    answer(request).then(
      ([status, body]) => respond(response, status, body),
      () => response.destroy(),
    );
  });
  Object.assign(server, { headersTimeout: 10_000, requestTimeout: 10_000, maxConnections: 1_000 });

  async function answer(request: IncomingMessage): Promise<readonly [number, object]> {
    const machine = decodeURIComponent(PATH.exec(request.url ?? '')?.[1] ?? '').toLowerCase();
    const boot = [...awaited].find((one) => isSame(one.systemId().toLowerCase(), machine));
    if (machine === '' || boot === undefined) {
      return [404, { message: `this agent awaits no boot of machine '${machine}': ask the other agents of its pool` }];
    }
    const { node, device, nonce } = boot;
    if (request.method === 'GET') return [200, { node, device, nonce }];
    if (request.method !== 'POST') return [405, { message: 'GET asks for the nonce, POST says what has booted' }];
    const {
      device: booted = '',
      signature = '',
      error = '',
    } = JSON.parse(await bodyOf(request)) as Record<string, unknown>;
    const expected = signatureOf(secret, machine, String(booted), nonce);
    if (!isEqual(expected, String(signature))) {
      log.warn(
        { event: 'heartbeat_refused', host: node },
        'node heartbeat refused: its signature does not match the secret',
      );
      return [
        403,
        { message: 'signature must be the HMAC-SHA256, in hex, of "<machine> <device> <nonce>" by the secret' },
      ];
    }
    if (booted === device)
      boot.word = error === '' ? { kind: 'done' } : { kind: 'failed', why: String(error).slice(0, MAX_WHY) };
    else boot.word = { kind: 'failed', why: `it booted as ${String(booted).slice(0, 40)}, and not as ${device}` };
    log.info({ event: 'heartbeat', host: node, device: booted, word: boot.word.kind }, 'node booted');
    return [200, {}];
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const message = `cannot listen on ${host}:${port} for heartbeats (${cause.code}): check BERTH_AGENT_HEARTBEAT_HOST and BERTH_AGENT_HEARTBEAT_PORT`;
      reject(new BerthError('failed_precondition', 'cannot_listen', message, { cause }));
    });
    server.listen(port, host, resolve);
  });
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    expect(boot) {
      const one: Awaited = { ...boot, nonce: randomBytes(16).toString('hex'), word: { kind: 'none' } };
      awaited.add(one);
      return {
        get word() {
          return one.word;
        },
        end: () => void awaited.delete(one),
      };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The signature of an image's report. */
export function signatureOf(secret: string, machine: string, device: string, nonce: string): string {
  return createHmac('sha256', secret).update(`${machine.toLowerCase()} ${device} ${nonce}`).digest('hex');
}

/** The first three fields of a uuid come in either byte order, by version of SMBIOS. */
function isSame(known: string, asked: string): boolean {
  return known !== '' && (known === asked || known === swapped(asked));
}

function swapped(uuid: string): string {
  const fields = uuid.split('-');
  const turn = (field: string) => (field.match(/../g) ?? []).toReversed().join('');
  return fields.map((field, n) => (n < 3 ? turn(field) : field)).join('-');
}

function isEqual(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request as AsyncIterable<Buffer>) {
    text += chunk.toString();
    if (text.length > MAX_BODY_BYTES) throw new Error('too long');
  }
  return text;
}

function respond(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
