import { PassThrough } from 'node:stream';
import { facts, table } from './table';
import { createTerminal } from './terminal';

const WORDS = 'the quick brown fox jumps over the lazy dog';

/** A table on a terminal of this width; on a pipe without. */
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

it('wraps facts between words, beside their names', () => {
  const out = Object.assign(new PassThrough(), { isTTY: true, columns: 25 });
  const terminal = createTerminal(out, new PassThrough(), { NO_COLOR: '1' });
  const pairs = [
    ['name', 'host-1'],
    ['why', WORDS],
  ] as const;
  const why = ['why   the quick brown fox', '      jumps over the lazy', '      dog'];
  expect(facts(terminal, pairs).split('\n')).toEqual(['name  host-1', ...why]);
});

describe('with spare columns', () => {
  const HEAD = ['NAME', 'FILL', 'AMOUNT', 'PROJECT', 'WHY'];
  const ROW = ['one', 'full', '3 of 4', 'a-project', 'no room at all'];
  const drawnIn = (columns: number) => {
    const terminal = createTerminal(Object.assign(new PassThrough(), { isTTY: true, columns }), new PassThrough(), {
      NO_COLOR: '1',
    });
    return table(terminal, HEAD, [ROW], { first: [2], last: [3] }).split('\n');
  };

  it.each([
    [45, ['NAME  FILL  AMOUNT  PROJECT    WHY', 'one   full  3 of 4  a-project  no room at all']],
    [36, ['NAME  FILL  PROJECT    WHY', 'one   full  a-project  no room at', '                       all']],
    [20, ['NAME  FILL  WHY', 'one   full  no room', '            at all']],
  ])('leaves out on %i columns what is spare', (columns, lines) => {
    expect(drawnIn(columns)).toEqual(lines);
  });

  it('is a list of names and values where nothing else helps', () => {
    const names = ['NAME     one', 'FILL     full', 'AMOUNT   3 of 4', 'PROJECT  a-project'];
    expect(drawnIn(14)).toEqual([...names, 'WHY      no room', '         at all']);
  });
});

describe('with gauges', () => {
  const HEAD = ['NAME', 'VCPU', 'AMOUNT', 'ZONE'];
  const drawnIn = (columns: number) => {
    const out = Object.assign(new PassThrough(), { isTTY: true, columns });
    const terminal = createTerminal(out, new PassThrough(), { NO_COLOR: '1', LANG: 'C' });
    return table(terminal, HEAD, [['host-1', { used: 2, capacity: 4 }, '2 of 4', 'east']], { first: [2], last: [3] });
  };

  it.each([
    [37, 'host-1  #####.....  50%  2 of 4  east'],
    [36, 'host-1  ##..  50%  2 of 4  east'],
    [26, 'host-1  50%   2 of 4  east'],
    [25, 'host-1  ##..  50%  east'],
    [18, 'host-1  50%   east'],
    [13, 'host-1  50%'],
  ])('shortens bars on %i columns rather than break a line', (columns, line) => {
    expect(drawnIn(columns).split('\n')[1]).toBe(line);
  });
});

describe('with UUIDs and long texts, as lists have them', () => {
  const A = '6f1f36c4-52f9-4a3c-9f6f-0d2f0a4b7a11';
  const B = '6f1f36c4-99f9-4a3c-9f6f-0d2f0a4b7a11';
  const drawnIn = (columns: number, uuids: readonly string[] = [A]) => {
    const out = Object.assign(new PassThrough(), { isTTY: true, columns });
    const terminal = createTerminal(out, new PassThrough(), { NO_COLOR: '1', LANG: 'C' });
    const rows = uuids.map((uuid) => [{ uuid }, 'web', 1, WORDS]);
    return table(terminal, ['INSTANCE', 'NAME', 'N', 'WHY'], rows, { cuts: true }).split('\n');
  };

  it.each([
    [100, `${A}  web   1  ${WORDS}`],
    [80, `6f1f36c4  web   1  ${WORDS}`],
    [40, '6f1f36c4  web   1  the quick brown fox ~'],
  ])('keeps one line for a row on %i columns', (columns, line) => {
    expect(drawnIn(columns).slice(1)).toEqual([line]);
  });

  it('shows as much of UUIDs as tells them apart', () => {
    expect(drawnIn(80, [A, B]).map((line) => line.split(' ')[0])).toEqual(['INSTANCE', '6f1f36c4-5', '6f1f36c4-9']);
  });
});
