import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serveOperations } from '#libs/runtime/http';
import { createMetrics } from '#libs/runtime/metrics';
import type { Running } from '#libs/runtime/service';
import { environment } from '#libs/runtime/system';

/* Rules for the image that deploy/Dockerfile makes. */

const stages = readFileSync(join(__dirname, '../../deploy/Dockerfile'), 'utf8').split(/^(?=FROM )/m);
const image = stages.at(-1) ?? '';

it('has what a package has, and is not root', () => {
  expect([...image.matchAll(/^COPY --from=build (\S+)/gm)].map(([, from]) => from)).toEqual([
    '/berth/node_modules',
    '/berth/package',
  ]);
  expect([...image.matchAll(/^USER (\S+)$/gm)].map(([, user]) => user)).toEqual(['node']);
});

describe('its health check', () => {
  const [, words = '[]'] = /^HEALTHCHECK [^]*?CMD (\[.*\])$/m.exec(image) ?? [];
  const [command = '', ...args] = JSON.parse(words) as string[];

  async function check(port: string | undefined): Promise<number> {
    const child = spawn(command, args, { env: { ...environment(), BERTH_HTTP_PORT: port }, stdio: 'ignore' });
    const [code] = (await once(child, 'exit')) as [number];
    return code;
  }

  it('starts no Node, and passes when the process is ready only', async () => {
    expect(command).toBe('bash');
    expect(args.join(' ')).not.toMatch(/\bnode\b/);
    let state: ReturnType<Running['readiness']> = { ready: true };
    const settings = { host: '127.0.0.1', port: 0, metrics: createMetrics({}), readiness: () => state };
    const server = await serveOperations(settings);
    const { port } = new URL(server.url);
    expect(await check(port)).toBe(0);
    state = { ready: false, reason: 'mirror is behind' };
    expect(await check(port)).not.toBe(0);
    await server.close();
    expect(await check(port)).not.toBe(0);
  });
});
