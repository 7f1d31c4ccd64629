import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { takeGlobalFlags } from '../contexts/global-flags';
import { createTerminal } from '../views/terminal';
import { showLong } from './pager';

const LONG = Array.from({ length: 20 }, (_, i) => `line ${i}`).join('\n');
const folder = mkdtempSync(join(tmpdir(), 'berth-pager-'));
const paged = join(folder, 'paged');
afterAll(() => rmSync(folder, { recursive: true }));
afterEach(() => rmSync(paged, { force: true }));

/** The output to a terminal of 10 lines, or to a pipe, and the input of a pager. */
async function shown(text: string, env: Record<string, string>, isTTY = true) {
  const out = Object.assign(new PassThrough(), isTTY ? { isTTY, rows: 10, columns: 80 } : {});
  await showLong(createTerminal(out, new PassThrough(), { TERM: 'xterm' }), text, { PATH: '/usr/bin:/bin', ...env });
  return { out: String(out.read() ?? ''), paged: existsSync(paged) ? readFileSync(paged, 'utf8') : undefined };
}

const TO_FILE = { PAGER: `cat > '${paged}'` };

it('pages what is longer than the terminal, by $PAGER', async () => {
  expect(await shown(LONG, TO_FILE)).toEqual({ out: '', paged: `${LONG}\n` });
});

it('tells less, which it takes without $PAGER, to leave colours and short texts alone, unless it is told otherwise', async () => {
  const options = { PAGER: `printf %s "$LESS" > '${paged}'` };
  expect((await shown(LONG, options)).paged).toBe('FRX');
  expect((await shown(LONG, { ...options, LESS: 'S' })).paged).toBe('S');
});

it.each<[string, string, Record<string, string>, boolean]>([
  ['what fits', 'short', TO_FILE, true],
  ['into a pipe', LONG, TO_FILE, false],
  ['when PAGER is empty', LONG, { PAGER: '' }, true],
  ['when PAGER is cat', LONG, { PAGER: 'cat' }, true],
  [
    'with --no-pager',
    LONG,
    takeGlobalFlags(['host', 'list', '--no-pager'], TO_FILE).env as Record<string, string>,
    true,
  ],
  ['when there is no such pager', LONG, { PAGER: 'no-such-pager-anywhere' }, true],
])('prints %s', async (_, text, env, isTTY) => {
  expect(await shown(text, env, isTTY)).toEqual({ out: `${text}\n`, paged: undefined });
});

it('is content when the pager is left before the end', async () => {
  const endless = Array.from({ length: 100_000 }, () => 'a line of some length').join('\n');
  expect(await shown(endless, { PAGER: `head -n 1 > '${paged}'` })).toEqual({
    out: '',
    paged: 'a line of some length\n',
  });
});
