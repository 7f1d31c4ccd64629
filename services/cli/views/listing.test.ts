import { PassThrough } from 'node:stream';
import { fakeClock } from '#libs/testing/fake-clock';
import type { Context } from '../context';
import { type ListFlags, type Listing, listingCommand, showListing, sorted } from './listing';
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
  sorts: { age: ({ size }) => -size },
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
    { terminal, clock, interrupted, env: {} } as unknown as Context,
    { output: 'table', json: false, watch: false, reverse: false, ...flags },
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

describe('an order', () => {
  const HOSTS = ['host-10', 'host-9', 'Host-1'].map((name, size) => ({ name, size }));
  const names = (flags: { sortBy?: string; reverse: boolean }) => sorted(HOSTS, flags, LISTING).map(({ name }) => name);

  it.each([
    [undefined, ['host-10', 'host-9', 'Host-1']],
    ['name', ['Host-1', 'host-9', 'host-10']],
    ['age', ['Host-1', 'host-9', 'host-10']],
  ])('is by %s', (sortBy, expected) => {
    const by = sortBy === undefined ? {} : { sortBy };
    expect(names({ ...by, reverse: false })).toEqual(expected);
    expect(names({ ...by, reverse: true })).toEqual(expected.toReversed());
  });

  it('is shown in every form', async () => {
    const read = async () => HOSTS.map(({ name, size }) => ({ name, size }));
    expect(await shown({ output: 'name', sortBy: 'age', reverse: true }, undefined, read)).toBe(
      'host-10\nhost-9\nHost-1\n',
    );
  });

  it('is one that the listing has', () => {
    const choices = (command: ReturnType<typeof listingCommand>) =>
      command.options.find(({ long }) => long === '--sort-by')?.argChoices;
    expect(choices(listingCommand('list', LISTING))).toEqual(['name', 'age']);
    expect(choices(listingCommand('list'))).toEqual(['name']);
  });
});
