import { startChild } from '#libs/testing/servers/child';

it('ends on SIGTERM while it computes', async () => {
  const bench = startChild('test/bench/run.ts', [
    'pack',
    '--generated',
    '1',
    '--courses',
    'growth',
    '--profiles',
    'pack',
  ]);
  await bench.says('growth_1_one_kind pack');
  bench.process.kill('SIGTERM');
  expect(await bench.exit).toEqual({ code: null, signal: 'SIGTERM' });
});
