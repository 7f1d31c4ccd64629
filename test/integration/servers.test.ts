import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { sleep } from '#libs/domain/clock';
import { systemClock } from '#libs/runtime/system';
import { startRedis } from '#libs/testing/servers/servers';

const clock = systemClock();

it('keeps port and data of a server that is killed and started again', async () => {
  const server = await startRedis({ appendOnly: true });
  const redis = new Redis(server.url);
  try {
    await redis.set('key', 'value');
    const { pid, url } = server;
    await server.kill('SIGKILL');
    expect(server.pid).toBeUndefined();
    await server.restart();
    expect(server.url).toBe(url);
    expect(server.pid).not.toBe(pid);
    expect(await redis.get('key')).toBe('value');
  } finally {
    redis.disconnect();
    await server.stop();
  }
});

it.each(['SIGKILL', 'SIGINT'] as const)('leaves no server behind when the test run ends with %s', async (signal) => {
  const child = run(`
    const { startRedis } = require('./libs/testing/servers/servers');
    startRedis().then(({ pid }) => console.log(pid));
    setInterval(() => {}, 1000);
  `);
  const [output] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  const pid = Number(output.toString());
  expect(isAlive(pid)).toBe(true);
  child.kill(signal);
  while (isAlive(pid)) await sleep(clock, 10);
  expect(isAlive(pid)).toBe(false);
});

function run(script: string): ChildProcess {
  const args = ['--conditions=berth-source', '--require', './libs/testing/typescript.cjs', '--eval', script];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
