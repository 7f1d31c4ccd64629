import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Two images, so that a rebuild can change the image of a server. */
export const IMAGES = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'] as const;

/** As much of Glance and Neutron as servers without networks need. */
export async function startImagesAndNetworks(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((request, response) => {
    request.resume().once('end', () => answer(request.method ?? 'GET', request.url ?? '/', response));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const versions = (root: string, id: string) => ({
    versions: [{ id, status: 'CURRENT', links: [{ rel: 'self', href: `${url}${root}/${id.slice(0, 2)}/` }] }],
  });

  function answer(method: string, path: string, response: ServerResponse): void {
    const json = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const [root = '/'] = path.split('?');
    const image = IMAGES.find((id) => root.startsWith(`/v2/images/${id}`)) ?? IMAGES[0];
    const [, list] = /^\/network\/v2\.0\/([a-z-]+)$/.exec(root) ?? [];
    // The snapshot of a server that is shelved.
    if (method === 'POST' && root === '/v2/images') return void json(201, imageOf(IMAGES[0]));
    if (method !== 'GET') return void response.writeHead(204, { 'content-type': 'text/plain' }).end();
    if (root === '/' || root === '/versions') return void json(300, versions('', 'v2.15'));
    if (root.replace(/\/$/, '') === '/network') return void json(200, versions('/network', 'v2.0'));
    if (root === '/v2/schemas/image') return void json(200, SCHEMA);
    if (root === '/v2/images') return void json(200, { images: IMAGES.map(imageOf), first: '/v2/images' });
    if (root.endsWith('/file')) return void response.writeHead(200).end('x');
    if (root === `/v2/images/${image}`) return void json(200, imageOf(image));
    if (list !== undefined) return void json(200, { [list.replaceAll('-', '_')]: [] });
    json(404, { message: `nothing at ${root}` });
  }

  return {
    url,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function imageOf(id: string) {
  return {
    id,
    name: `image ${id.slice(0, 1)}`,
    status: 'active',
    visibility: 'public',
    container_format: 'bare',
    disk_format: 'raw',
    size: 1,
    min_ram: 0,
    min_disk: 0,
    checksum: 'd41d8cd98f00b204e9800998ecf8427e',
    owner: 'admin',
    protected: false,
    os_hidden: false,
    tags: [],
    created_at: '2024-01-01T00:00:00Z',
    updated_at: '2024-01-01T00:00:00Z',
    file: `/v2/images/${id}/file`,
    schema: '/v2/schemas/image',
    self: `/v2/images/${id}`,
  };
}

const SCHEMA = {
  name: 'image',
  properties: Object.fromEntries(Object.keys(imageOf('')).map((name) => [name, {}])),
  additionalProperties: { type: 'string' },
  links: [],
};
