import { startChild } from '#libs/testing/servers/child';

/* `berth demo --console` as a process, as people run it. */

const BERTH = 'services/cli/main.ts';
const ANY_PORT = { BERTH_CONSOLE_PORT: '0' };

it('says how far its start is, a line per step, before its address', async () => {
  const child = startChild(BERTH, ['demo', '--console', '--hosts', '20', '--builds', '1'], ANY_PORT);
  await child.says('until Ctrl-C');
  expect(child.stderr().split('\n').slice(0, 2)).toEqual(['starting schedulers and conductors', 'starting hosts']);
  expect(child.stderr()).toContain('\ngrouping hosts into zones and racks\nstarting the console\n');
  expect(child.stdout()).toMatch(/^console: http/);
  child.process.kill('SIGINT');
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

it('ends with 130 on Ctrl-C while it starts', async () => {
  const child = startChild(BERTH, ['demo', '--console', '--hosts', '10000'], ANY_PORT);
  await child.says('starting hosts');
  child.process.kill('SIGINT');
  expect(await child.exit).toEqual({ code: 130, signal: null });
  expect(child.stdout()).toBe('');
  expect(child.stderr()).toMatch(/^berth: interrupted$/m);
});
