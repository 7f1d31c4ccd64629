import { PassThrough } from 'node:stream';
import { withProgress } from './progress';
import { createTerminal } from './terminal';

function terminalOn(isTty: boolean, env: Record<string, string> = {}) {
  const err = Object.assign(new PassThrough(), { isTTY: isTty, columns: 100 });
  return { terminal: createTerminal(new PassThrough(), err, env), err: () => String(err.read() ?? '') };
}

it.each([
  [false, { LANG: 'C' }],
  [true, { TERM: 'dumb' }],
])('prints lines where they are not redrawn: a terminal %s, %j', async (isTty, env) => {
  const { terminal, err } = terminalOn(isTty, env);
  const result = await withProgress(terminal, 'building', async (show) => {
    show(0, 2_000);
    show(1_000, 2_000, () => '1 failed');
    return 'built';
  });
  expect(result).toBe('built');
  expect(err().split('\n')).toEqual([
    expect.stringMatching(/^building \.{20} 0%  0\/2,000 /),
    expect.stringMatching(/^building #{10}\.{10} 50%  1,000\/2,000  [\d,]+\/s, .* left  1 failed$/),
    '',
  ]);
});

it('redraws its line on a terminal, without wrapping it, and leaves the last one, also when the work fails', async () => {
  const { terminal, err } = terminalOn(true, { NO_COLOR: '1' });
  const work = withProgress(terminal, 'moving', async (show) => {
    show(1, 2);
    show(2, 2);
    throw new Error('lost');
  });
  await expect(work).rejects.toThrow('lost');
  const drawn = err();
  expect(drawn).toContain('\x1b[?7l');
  expect(drawn).toMatch(/moving █{20} 100%  2\/2 .*\n$/);
});

it('shows nothing of work that tells nothing', async () => {
  const { terminal, err } = terminalOn(true);
  await withProgress(terminal, 'draining', async () => {});
  expect(err()).toBe('');
});
