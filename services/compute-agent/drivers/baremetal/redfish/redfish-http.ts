import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from 'node:https';
import * as tls from 'node:tls';
import { BerthError } from '#libs/domain/errors';
import { isPassing } from '../passing-answers';

/** The session of a request has ended. */
export class SessionEnded extends Error {}

/** An answer of a Redfish service. */
export interface RedfishAnswer {
  readonly status: number;
  readonly headers: Headers;
  /**
   * The resource, or its extended error; {} for anything but a JSON object, such as pages of proxies and of starting
   * services.
   */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface RedfishRequest {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  /** X-Auth-Token of a session. */
  readonly token?: string | undefined;
  /** User and password, for a service without sessions. */
  readonly basic?: { readonly user: string; readonly password: string } | undefined;
  readonly ifMatch?: string | undefined;
}

/**
 * Sends one request to a Redfish service (DMTF DSP0266), once.
 *
 * @param url  absolute
 * @returns also error answers
 * @throws BerthError `unavailable / controller_away`
 */
export type AskRedfish = (url: string, request: RedfishRequest, timeoutMs: number) => Promise<RedfishAnswer>;

/** A resource has some ten KB; the connection of a service that sends more than this is cut. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/**
 * Requests over HTTP. Redirects are returned: the caller decides whether the session's token may follow.
 *
 * @param caFile  certificates in PEM to trust besides the public ones: issuers, or controllers' own. A certificate in
 *   the file itself is trusted under any name: controllers sign for `localhost`, or for a serial number
 * @throws BerthError `invalid_argument / bad_config` when the file can't be read
 */
export function askOverHttp(caFile = ''): AskRedfish {
  const plain = new HttpAgent({ keepAlive: true });
  const secure = new HttpsAgent({ keepAlive: true, ...(caFile === '' ? {} : trusting(caFile)) });
  return async (url, request, timeoutMs) => {
    const { body } = request;
    const text = body === undefined ? undefined : JSON.stringify(body);
    try {
      const isSecure = url.startsWith('https:');
      const options: RequestOptions = {
        method: request.method ?? 'GET',
        headers: headersOf(request, text),
        agent: isSecure ? secure : plain,
        signal: AbortSignal.timeout(timeoutMs),
      };
      return await answerOf(isSecure ? httpsRequest : httpRequest, url, options, text);
    } catch (cause) {
      throw controllerAway(url, cause);
    }
  };
}

/** With the machine's trusted certificates. */
export const askRedfish: AskRedfish = askOverHttp();

function headersOf({ token, basic, ifMatch }: RedfishRequest, text: string | undefined): Record<string, string> {
  const headers: Record<string, string> = { accept: 'application/json', 'odata-version': '4.0' };
  if (text !== undefined) {
    headers['content-type'] = 'application/json';
    headers['content-length'] = String(Buffer.byteLength(text));
  }
  if (token !== undefined) headers['x-auth-token'] = token;
  if (basic !== undefined)
    headers['authorization'] = `Basic ${Buffer.from(`${basic.user}:${basic.password}`).toString('base64')}`;
  if (ifMatch !== undefined) headers['if-match'] = ifMatch;
  return headers;
}

function answerOf(
  open: typeof httpRequest | typeof httpsRequest,
  url: string,
  options: RequestOptions,
  text: string | undefined,
): Promise<RedfishAnswer> {
  return new Promise((resolve, reject) => {
    const sent = open(url, options, (response) => {
      readAll(response).then((content) => resolve(toAnswer(response, content)), reject);
    });
    sent.on('error', (error: NodeJS.ErrnoException) => {
      // The service had closed an idle connection: it did not get the request.
      const isStale = sent.reusedSocket && error.code === 'ECONNRESET';
      if (isStale) answerOf(open, url, { ...options, agent: false }, text).then(resolve, reject);
      else reject(error);
    });
    sent.end(text);
  });
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let byteCount = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    byteCount += chunk.length;
    if (byteCount > MAX_ANSWER_BYTES) throw new Error(`more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The status decides: an error answer may have any body. */
function toAnswer({ statusCode = 0, headers: received }: IncomingMessage, content: string): RedfishAnswer {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return { status: statusCode, headers, body: parsed(content) };
}

function parsed(content: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}

/** Options of TLS that trust a file's certificates beside those that the machine trusts: `ca` alone would replace them. */
export function trusting(caFile: string) {
  let pem: string;
  let own: ReadonlySet<string>;
  try {
    pem = readFileSync(caFile, 'utf8');
    const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
    if (blocks.length === 0) throw new Error('it has no certificate');
    own = new Set(blocks.map((block) => new X509Certificate(block).fingerprint256));
  } catch (cause) {
    const message = `BERTH_AGENT_REDFISH_CA_FILE must name certificates in PEM, not '${caFile}' (${BerthError.from(cause).message})`;
    throw new BerthError('invalid_argument', 'bad_config', message, { cause });
  }
  return {
    ca: [...trustedByMachine(), pem],
    checkServerIdentity: (host: string, certificate: tls.PeerCertificate) =>
      own.has(certificate.fingerprint256) ? undefined : tls.checkServerIdentity(host, certificate),
  };
}

/** With those of NODE_EXTRA_CA_CERTS where this Node can tell. */
function trustedByMachine(): readonly string[] {
  const known: Partial<typeof tls> = tls;
  return known.getCACertificates?.('default') ?? tls.rootCertificates;
}

export function controllerAway(url: string, cause?: unknown): BerthError {
  const { code = '', message = '' } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
  const isUntrusted = /CERT|SELF_SIGNED|ISSUER|SIGNATURE|ALTNAME/.test(code);
  const hint = isUntrusted ? '; name its certificate, or that of its issuer, in BERTH_AGENT_REDFISH_CA_FILE' : '';
  const why = code || message;
  return new BerthError('unavailable', 'controller_away', `no answer from ${url}${why && ` (${why})`}${hint}`, {
    cause,
  });
}

/** @throws BerthError when the service refused, or was unable to answer. */
export function mustSucceed(answer: RedfishAnswer, url: string): RedfishAnswer {
  const { status } = answer;
  if (status < 300) return answer;
  const message = `${url} answered ${status}: ${messageOf(answer) || 'without a message'}`;
  if (isPassing(status)) throw new BerthError('unavailable', 'controller_away', message);
  if (status === 409) throw new BerthError('unavailable', 'controller_busy', message);
  throw new BerthError('failed_precondition', 'controller_refused', message);
}

/** The extended error's message, shortened. */
export function messageOf({ body }: RedfishAnswer): string {
  const { error } = body as { error?: ExtendedError };
  const details = detailsOf(error).flatMap(({ Message }) => Message || []);
  const text = details.length > 0 ? details.join(' ') : (error?.message ?? '');
  return typeof text === 'string' ? text.slice(0, 300) : '';
}

/** The ids of its messages, such as `Base.1.18.SessionLimitExceeded`. */
export function messageIdsOf({ body }: RedfishAnswer): string {
  const { error } = body as { error?: ExtendedError };
  return [error?.code, ...detailsOf(error).map(({ MessageId }) => MessageId)].join(' ');
}

function detailsOf(error: ExtendedError | undefined): readonly ExtendedInfo[] {
  return listOf<ExtendedInfo>(error?.['@Message.ExtendedInfo']);
}

interface ExtendedError {
  readonly code?: string;
  readonly message?: unknown;
  readonly '@Message.ExtendedInfo'?: unknown;
}

interface ExtendedInfo {
  readonly MessageId?: string;
  readonly Message?: string;
}

/** The links of a collection, or of another list of references. */
export function membersOf(body: Readonly<Record<string, unknown>>): string[] {
  return listOf<{ readonly '@odata.id'?: string }>(body['Members']).flatMap((member) => member['@odata.id'] ?? []);
}

/** A property that should be a list of objects; services may send anything. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names what a resource lists
export function listOf<T extends object>(value: unknown): readonly T[] {
  return Array.isArray(value) ? value.filter((one): one is T => typeof one === 'object' && one !== null) : [];
}
