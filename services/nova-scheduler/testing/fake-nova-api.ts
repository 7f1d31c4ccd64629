import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Row = Readonly<Record<string, unknown>>;

/** A server that answers what Berth asks of Nova's API, and fails as a test wishes. */
export interface FakeNovaApi {
  readonly url: string;
  services: Row[];
  hypervisors: Row[];
  aggregates: Row[];
  /** Paths that were asked for, with their queries. */
  readonly asked: string[];
  /** Tokens that are refused once. */
  readonly refused: Set<string>;
  behaviour: 'proper' | 'silent' | 'broken' | 'nonsense' | 'forbidden';
  close(): Promise<void>;
}

export async function startFakeNovaApi(): Promise<FakeNovaApi> {
  const server = createServer((request, response) => answer(request, response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const fake: FakeNovaApi = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2.1`,
    services: [],
    hypervisors: [],
    aggregates: [],
    asked: [],
    refused: new Set(),
    behaviour: 'proper',
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return fake;

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const send = (status: number, body: object) => response.writeHead(status).end(JSON.stringify(body));
    const url = new URL(request.url ?? '/', fake.url);
    fake.asked.push(url.pathname.replace('/v2.1', '') + url.search);
    if (fake.behaviour === 'silent') return;
    if (fake.behaviour === 'broken') return void send(503, {});
    if (fake.behaviour === 'forbidden') return void send(403, {});
    if (fake.behaviour === 'nonsense') return void send(200, { hello: 1 });
    const token = String(request.headers['x-auth-token']);
    if (fake.refused.delete(token)) return void send(401, {});
    if (url.pathname.endsWith('/os-services')) return void send(200, { services: fake.services });
    if (url.pathname.endsWith('/os-aggregates')) return void send(200, { aggregates: fake.aggregates });
    const marker = url.searchParams.get('marker');
    const from = marker === null ? 0 : fake.hypervisors.findIndex(({ id }) => id === marker) + 1;
    send(200, { hypervisors: fake.hypervisors.slice(from, from + Number(url.searchParams.get('limit'))) });
  }
}

/** A row of os-hypervisors/detail. */
export function aHypervisor(n: number, servers: readonly string[] = []): Row {
  return {
    id: `node-${n}`,
    hypervisor_hostname: `h${n}.example`,
    hypervisor_type: 'QEMU',
    hypervisor_version: 6_002_000,
    current_workload: n,
    cpu_info: { arch: 'x86_64' },
    service: { host: `h${n}`, id: `service-${n}` },
    servers: servers.map((uuid) => ({ uuid, name: uuid })),
  };
}
