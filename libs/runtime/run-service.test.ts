import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Child, startChild, urlIn } from '../testing/servers/child';

const SERVICE = 'libs/testing/stepped-service.ts';
const children: Child[] = [];

function start(misbehaviour: string, env: Record<string, string> = {}): Child {
  const child = startChild(SERVICE, [misbehaviour], env);
  children.push(child);
  return child;
}

async function startRunning(misbehaviour: string, env: Record<string, string> = {}) {
  const child = start(misbehaviour, env);
  await child.says('"running"');
  return { child, url: urlIn(child) };
}

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.process.kill('SIGKILL');
    await child.exit;
  }
});

function closedThings(child: Child): string[] {
  return child
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('closed '));
}

it.each(['SIGTERM', 'SIGINT'] as const)('closes in reverse order on %s and exits 0', async (signal) => {
  const { child } = await startRunning('');
  child.process.kill(signal);
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(closedThings(child)).toEqual(['closed service', 'closed bus', 'closed store']);
  expect(child.stdout()).toContain('"outcome":"clean","msg":"stopped"');
});

it('closes what was open when the start fails, says why in one line and exits non-zero', async () => {
  const child = start('fails');
  expect(await child.exit).toEqual({ code: 70, signal: null });
  expect(closedThings(child)).toEqual(['closed bus', 'closed store']);
  expect(child.stdout()).toContain('cannot start: the broker is not there');
  expect(child.stdout()).not.toContain('"stopped"');
});

it('ends after the time limit when a thing does not close', async () => {
  const { child } = await startRunning('hangs', { BERTH_SHUTDOWN_TIMEOUT_MS: '200' });
  child.process.kill('SIGTERM');
  expect(await child.exit).toEqual({ code: 1, signal: null });
  expect(child.stdout()).toContain('did not stop in time');
});

it('ends at once on the second signal', async () => {
  const { child } = await startRunning('hangs');
  child.process.kill('SIGTERM');
  await child.says('closed bus');
  child.process.kill('SIGINT');
  expect(await child.exit).toEqual({ code: 130, signal: null });
});

it('ends when a rejection is handled by nobody', async () => {
  const { child } = await startRunning('rejects');
  expect(await child.exit).toEqual({ code: 70, signal: null });
  expect(child.stdout()).toContain('nobody handles this');
});

it('answers for its health, its readiness with the reason, and its metrics', async () => {
  const { url } = await startRunning('');
  const get = async (path: string) => {
    const response = await fetch(url + path);
    return { status: response.status, body: await response.text() };
  };
  expect(await get('/healthz')).toEqual({ status: 200, body: 'ok\n' });
  expect(await get('/readyz')).toEqual({ status: 503, body: 'not ready: mirror is behind\n' });
  expect((await get('/metrics')).body).toContain('process_cpu_seconds_total{service="stepped"');
  expect((await get('/')).status).toBe(404);
});

it('says which port is taken and what to do', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  const child = start('', { BERTH_HTTP_PORT: String(port) });
  expect(await child.exit).toEqual({ code: 4, signal: null });
  expect(child.stdout()).toContain(`127.0.0.1:${port} is in use by another process; set BERTH_HTTP_PORT`);
  await new Promise((resolve) => other.close(resolve));
});
