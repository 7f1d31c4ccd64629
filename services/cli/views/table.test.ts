import { PassThrough } from 'node:stream';
import { table } from './table';
import { createTerminal } from './terminal';

const WORDS = 'the quick brown fox jumps over the lazy dog';

/** A table on a terminal of so many columns; on a pipe without. */
function drawn(columns?: number): string[] {
  const out = Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns });
  const terminal = createTerminal(out, new PassThrough(), { NO_COLOR: '1' });
  return table(terminal, ['NAME', 'N', 'WHY'], [['a-name-that-is-one-word', 1_000, WORDS]]).split('\n');
}

it('is as wide as it is where there is no terminal, and where it fits', () => {
  const whole = ['NAME                         N  WHY', `a-name-that-is-one-word  1,000  ${WORDS}`];
  expect(drawn()).toEqual(whole);
  expect(drawn(100)).toEqual(whole);
});

it.each([45, 50, 60, 74])('wraps between words on a terminal of %i columns', (columns) => {
  const lines = drawn(columns);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  expect(lines.length).toBeGreaterThan(2);
  const words = lines.slice(1).flatMap((line) => line.trim().split(/\s+/));
  expect(words.sort()).toEqual(['a-name-that-is-one-word', '1,000', ...WORDS.split(' ')].sort());
});

it('never breaks a word', () => {
  expect(drawn(10).join(' ')).toContain('a-name-that-is-one-word');
});
