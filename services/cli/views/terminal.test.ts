import { PassThrough } from 'node:stream';
import { formatNumber } from './format';
import { bar, table } from './table';
import { createTerminal, wrapped } from './terminal';

function terminalOn(isTty: boolean, env: Record<string, string> = {}) {
  const out = Object.assign(new PassThrough(), { isTTY: isTty });
  const err = Object.assign(new PassThrough(), { isTTY: isTty, columns: 20 });
  const said = (stream: PassThrough) => String(stream.read() ?? '');
  return { terminal: createTerminal(out, err, env), out: () => said(out), err: () => said(err) };
}

it('lines tables up, numbers to the right, without borders or trailing blanks', () => {
  const { terminal } = terminalOn(false);
  const lines = table(
    terminal,
    ['HOST', 'INSTANCES', 'ZONE'],
    [
      ['host-1', 7, 'a'],
      ['host-1234', 12_345, ''],
    ],
  );
  expect(lines.split('\n')).toEqual([
    'HOST       INSTANCES  ZONE', //
    'host-1             7  a',
    'host-1234     12,345',
  ]);
});

it('shows the head of an empty table', () => {
  expect(table(terminalOn(false).terminal, ['HOST', 'ZONE'], [])).toBe('HOST  ZONE');
});

it('draws shares as bars', () => {
  const { terminal } = terminalOn(false);
  expect(bar(terminal, 7, 10)).toBe('███████░░░  70%');
  expect(bar(terminal, 0, 0)).toBe('░░░░░░░░░░   0%');
  expect(bar(terminal, 30, 10)).toBe('██████████ 300%');
});

it.each([
  [{ LANG: 'de_DE.UTF-8' }, '████░  75%'],
  [{ LC_ALL: 'C', LANG: 'de_DE.UTF-8' }, '####.  75%'],
  [{ LANG: 'POSIX' }, '####.  75%'],
  [{ TERM: 'dumb' }, '####.  75%'],
])('draws with %j: %s', (env, drawn) => {
  expect(bar(terminalOn(false, env).terminal, 3, 4, 5)).toBe(drawn);
});

it('lines up numbers with empty cells among them', () => {
  const { terminal } = terminalOn(false);
  expect(
    table(
      terminal,
      ['A', 'B'],
      [
        [100, ''],
        ['', ''],
      ],
    ),
  ).toBe('  A  B\n100\n');
});

it("obeys nothing in other people's words", () => {
  const { terminal, out, err } = terminalOn(true);
  terminal.print(`fault: \u001b]52;c;eA==\u0007`);
  terminal.json({ fault: '\u009b2J' });
  terminal.note('no host \u001b[2J');
  expect(out()).toBe('fault: ␛]52;c;eA==␇\n{"fault":"\\u009b2J"}\n');
  expect(err()).toBe('no host ␛[2J\n');
});

it('is coloured on a terminal, unless NO_COLOR is set', () => {
  expect(bar(terminalOn(true).terminal, 1, 1)).toContain('\x1b[31m');
  expect(bar(terminalOn(true, { NO_COLOR: '1' }).terminal, 1, 1)).not.toContain('\x1b');
  expect(bar(terminalOn(false).terminal, 1, 1)).not.toContain('\x1b');
});

it.each([
  [1234, '1,234'],
  [0.25, '0.3'],
  [123.4, '123'],
  [12.34, '12.3'],
])('writes %p as %p', (value, text) => {
  expect(formatNumber(value)).toBe(text);
});

const SENTENCE = '0 of 30 hosts fit: 22 lack free VCPU (capacity_vcpu), 8 are disabled (host_disabled)';

const ofWidth = (columns?: number) =>
  createTerminal(Object.assign(new PassThrough(), columns && { isTTY: true, columns }), new PassThrough(), {});

it('breaks between words, so that no line is wider than the terminal, and indents each', () => {
  const lines = wrapped(ofWidth(50), SENTENCE, '  ').split('\n');
  expect(lines.length).toBe(2);
  for (const line of lines) expect(line).toMatch(/^ {2}\S.{0,47}$/);
  expect(lines.map((line) => line.trim()).join(' ')).toBe(SENTENCE);
});

it('leaves a sentence whole where nobody reads it on a terminal', () => {
  expect(wrapped(ofWidth(), SENTENCE, '  ')).toBe(`  ${SENTENCE}`);
});
