import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type Docker from 'dockerode';

/** The driver's calls to a Docker engine, over its socket. Errors carry the engine's `statusCode`, if it answered. */
export interface Engine {
  info(): Promise<MachineInfo>;
  listContainers(options?: ListOptions): Promise<Docker.ContainerInfo[]>;
  createContainer(options: Docker.ContainerCreateOptions, signal?: AbortSignal): Promise<void>;
  /** By name or id. */
  getContainer(name: string): EngineContainer;
  removeImage(name: string): Promise<void>;
  pull(image: string): Promise<void>;
  /** One line of JSON per event, until the signal aborts. */
  getEvents(filters: Filters, signal: AbortSignal): Promise<AsyncIterable<string>>;
}

export interface EngineContainer {
  inspect(): Promise<Docker.ContainerInspectInfo>;
  start(signal: AbortSignal): Promise<void>;
  /** Kills it after that time. */
  stop(seconds: number): Promise<void>;
  update(limits: Docker.HostConfig): Promise<void>;
  /** Creates an image of its present content. */
  commit(image: { readonly repo: string; readonly tag: string }): Promise<void>;
  rename(name: string): Promise<void>;
  /** By force. Its volumes stay by default. */
  remove(also?: { readonly volumes: boolean }): Promise<void>;
}

/** The engine's facts about its machine. */
export interface MachineInfo {
  readonly NCPU: number;
  readonly MemTotal: number;
}

type Filters = Readonly<Record<string, readonly string[]>>;

interface ListOptions {
  /** Includes stopped ones. */
  readonly all?: boolean;
  readonly filters?: Filters;
}

interface Call {
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: object;
  readonly signal?: AbortSignal | undefined;
}

type Method = 'GET' | 'POST' | 'DELETE';

/** Opens nothing yet: each call has a connection of its own, so none outlives a restart of the engine. */
export function engineAt(socketPath: string): Engine {
  const send = (method: Method, path: string, call: Call = {}) => answerTo(socketPath, method, path, call);
  const read = async <T>(path: string, call?: Call) => JSON.parse(await text(await send('GET', path, call))) as T;
  const change = async (method: Method, path: string, call?: Call) => {
    await text(await send(method, path, call));
  };
  return {
    info: () => read<MachineInfo>('/info'),
    listContainers: ({ all = false, filters = {} } = {}) =>
      read('/containers/json', { query: { all, filters: JSON.stringify(filters) } }),
    createContainer: ({ name = '', ...body }, signal) =>
      change('POST', '/containers/create', { query: { name }, body, signal }),
    removeImage: (name) => change('DELETE', `/images/${encodeURIComponent(name)}`, { query: { force: true } }),
    async pull(image) {
      for await (const line of linesOf(await send('POST', '/images/create', { query: referenceOf(image) }))) {
        const { error } = JSON.parse(line) as { readonly error?: string };
        if (error !== undefined) throw new Error(error);
      }
    },
    async getEvents(filters, signal) {
      return linesOf(await send('GET', '/events', { query: { filters: JSON.stringify(filters) }, signal }));
    },
    getContainer(name) {
      const path = `/containers/${encodeURIComponent(name)}`;
      return {
        inspect: () => read(`${path}/json`),
        start: (signal) => change('POST', `${path}/start`, { signal }),
        stop: (seconds) => change('POST', `${path}/stop`, { query: { t: seconds } }),
        update: (body) => change('POST', `${path}/update`, { body }),
        commit: (image) => change('POST', '/commit', { query: { container: name, ...image, pause: false }, body: {} }),
        rename: (to) => change('POST', `${path}/rename`, { query: { name: to } }),
        remove: ({ volumes } = { volumes: false }) => change('DELETE', path, { query: { force: true, v: volumes } }),
      };
    },
  };
}

/** An image without a tag means `latest`: without a tag the engine would pull all. */
function referenceOf(image: string): { readonly fromImage: string; readonly tag: string } {
  const [, fromImage = image, tag = 'latest'] = /^([^@]+)@(.+)$/.exec(image) ?? /^(.+):([^/:]+)$/.exec(image) ?? [];
  return { fromImage, tag };
}

/** The answer, with its body still unread. */
async function answerTo(
  socketPath: string,
  method: Method,
  path: string,
  { query = {}, body, signal }: Call,
): Promise<IncomingMessage> {
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const sent = body && JSON.stringify(body);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = sent === undefined ? { host: 'docker' } : { host: 'docker', 'content-type': 'application/json' };
    const options = {
      socketPath,
      method,
      path: `${path}?${search.toString()}`,
      headers,
      agent: false,
      ...(signal && { signal }),
    };
    request(options, resolve).on('error', reject).end(sent);
  });
  const { statusCode = 0 } = answer;
  if (statusCode >= 200 && statusCode < 300) return answer;
  throw Object.assign(new Error(messageOf(await text(answer)) || `HTTP ${statusCode}`), { statusCode });
}

/** The engine's message, or that of a proxy in front of it. */
function messageOf(body: string): string {
  try {
    return (JSON.parse(body) as { readonly message?: string }).message ?? body;
  } catch {
    return body;
  }
}

/** The non-empty lines of a text stream, each once it is complete. */
async function* linesOf(chunks: AsyncIterable<unknown>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = `${rest}${decoder.decode(chunk as Uint8Array, { stream: true })}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line.trim() !== '');
  }
  if (rest.trim() !== '') yield rest;
}
