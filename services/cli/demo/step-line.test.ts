import { PassThrough } from 'node:stream';
import { createTerminal } from '../views/terminal';
import { withStepLine } from './step-line';

async function shown(isTty: boolean): Promise<string> {
  const err = Object.assign(new PassThrough(), { isTTY: isTty, columns: 100 });
  const work = withStepLine(createTerminal(new PassThrough(), err, {}), async (show) => {
    show('starting hosts', '1 of 2');
    show('starting hosts', '2 of 2');
    show('grouping hosts');
    throw new Error('stopped');
  });
  await expect(work).rejects.toThrow('stopped');
  return String(err.read());
}

it('updates one line on a terminal and removes it at the end, also of failed work', async () => {
  const clear = '\r\x1b[2K';
  const lines = ['starting hosts: 1 of 2', 'starting hosts: 2 of 2', 'grouping hosts', ''];
  expect(await shown(true)).toBe(lines.map((line) => clear + line).join(''));
});

it('prints a line per step elsewhere', async () => {
  expect(await shown(false)).toBe('starting hosts\ngrouping hosts\n');
});
