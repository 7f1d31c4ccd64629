import { PassThrough } from 'node:stream';
import { fakeClock } from '#libs/testing/fake-clock';
import type { Context } from '../context';
import { type ListFlags, type Listing, showListing } from './listing';
import { createTerminal } from './terminal';

interface Thing {
  readonly name: string;
  readonly size: number;
}

const LISTING: Listing<Thing> = {
  nameOf: ({ name }) => name,
  columns: [
    { head: 'THING', cell: ({ name }) => name },
    { head: 'SIZE', cell: ({ size }) => size, isWide: true },
  ],
};
const THINGS = [
  { name: 'a', size: 1 },
  { name: 'bc', size: 20 },
];

async function shown(flags: Partial<ListFlags>, interrupted = new AbortController().signal, read = async () => THINGS) {
  const out = new PassThrough();
  const clock = fakeClock();
  const terminal = createTerminal(out, new PassThrough(), {});
  const showing = showListing(
    { terminal, clock, interrupted } as unknown as Context,
    { output: 'table', json: false, watch: false, ...flags },
    LISTING,
    read,
  );
  for (let n = 0; flags.watch && n < 5; n++) await clock.advance(2_000);
  await showing;
  return String(out.read());
}

it.each<[Partial<ListFlags>, string]>([
  [{ output: 'table' }, 'THING\na\nbc\n'],
  [{ output: 'wide' }, 'THING  SIZE\na         1\nbc       20\n'],
  [{ output: 'json' }, '[{"name":"a","size":1},{"name":"bc","size":20}]\n'],
  [{ json: true }, '[{"name":"a","size":1},{"name":"bc","size":20}]\n'],
  [{ output: 'yaml' }, '- name: a\n  size: 1\n- name: bc\n  size: 20\n'],
  [{ output: 'name' }, 'a\nbc\n'],
])('shows %j', async (flags, text) => {
  expect(await shown(flags)).toBe(text);
});

it('reads again and again while it watches, until Ctrl-C', async () => {
  const interrupting = new AbortController();
  let reads = 0;
  const read = async () => {
    reads += 1;
    if (reads === 3) interrupting.abort();
    return THINGS.slice(0, reads);
  };
  expect(await shown({ output: 'name', watch: true }, interrupting.signal, read)).toBe('a\na\nbc\na\nbc\n');
});
