import { startChild } from '#libs/testing/servers/child';

/* Behaviour that only a real process shows. `program.test.ts` tests the rest without one. */

it('ends with 130, and without a stack, when Ctrl-C comes in the middle', async () => {
  const demo = startChild('services/cli/main.ts', ['demo', '--builds', '50000']);
  await demo.says('hosts are up');
  demo.process.kill('SIGINT');
  expect(await demo.exit).toEqual({ code: 130, signal: null });
  expect(demo.stderr()).toContain('berth: the demo was interrupted');
  expect(demo.stderr()).not.toContain('    at ');
}, 30_000);

it('prints all of a long answer into a pipe before it ends', async () => {
  const config = startChild('services/cli/main.ts', ['config', '--json']);
  expect(await config.exit).toEqual({ code: 0, signal: null });
  expect(Array.isArray(JSON.parse(config.stdout()))).toBe(true);
}, 30_000);
