import { join } from 'node:path';
import { searchIndex } from '../docs-site/search-index';
import { brokenLinks, readSite, type Site, unreachable } from '../docs-site/site';
import { styleOf } from '../docs-site/style';

const ROOT = join(__dirname, '../..');
let site: Site;

beforeAll(async () => {
  site = await readSite(ROOT);
});

it('has no link and no anchor in a Markdown file that leads nowhere', () => {
  expect(brokenLinks(site)).toEqual([]);
});

it('leads from the table of contents to every Markdown file', () => {
  expect(unreachable(site)).toEqual([]);
});

it('has a title and an address of its own for each page', () => {
  expect(site.pages.filter(({ headings }) => headings[0]?.level !== 1).map(({ source }) => source.path)).toEqual([]);
  const addresses = site.pages.map(({ address }) => address);
  expect(addresses.filter((address, i) => addresses.indexOf(address) !== i)).toEqual([]);
});

it('writes no style and no script into a page, which the Content Security Policy would refuse', () => {
  const refused = site.pages.filter(({ html }) => /<[a-z][^>]*\s(style|on\w+)=|<script|<style/.test(html));
  expect(refused.map(({ source }) => source.path)).toEqual([]);
});

it('finds in the sources what the reference is of', () => {
  const htmlOf = (name: string) => site.pages.find(({ address }) => address === `reference/${name}.html`)?.html ?? '';
  expect(htmlOf('metrics')).toContain('berth_bus_dead_letters_total');
  expect(htmlOf('metrics')).toContain('berth_bus_calls_waiting');
  // Events of log lines whose fields are in the call, and of those with a constant.
  expect(htmlOf('events')).toContain('bus_connected');
  expect(htmlOf('events')).toContain('bus_unavailable');
  expect(htmlOf('errors')).toContain('no_role');
  expect(htmlOf('settings')).toContain('BERTH_CONSOLE_PORT');
  expect(htmlOf('commands')).toContain('berth host drain');
  expect(htmlOf('commands/host-drain')).toContain('Usage');
  expect(htmlOf('http-api')).toContain('/allocation_candidates');
  expect(htmlOf('messages')).toContain('OperatorAction');
});

it('finds each heading in the index of the search, with the words below it', () => {
  const index = searchIndex(site.pages);
  const drain = index.find(({ heading }) => heading === 'berth host drain');
  expect(drain).toMatchObject({ address: 'reference/commands/host-drain.html', title: 'berth host drain' });
  expect(drain?.words.split(' ')).toContain('usage');
  const addresses = site.pages.flatMap(({ address, headings }) =>
    headings.map(({ anchor, level }) => (level === 1 ? address : `${address}#${anchor}`)),
  );
  expect(index.map(({ address }) => address)).toEqual(addresses);
});

it("takes the console's colours, light and dark", () => {
  const style = styleOf(ROOT);
  expect(style.match(/--accent: /g)).toHaveLength(2);
});

it('notices a link and an anchor that lead nowhere, and a page that nothing leads to', async () => {
  const [page] = site.pages;
  if (!page) throw new Error('there is no page');
  const links = [
    { kind: 'broken', written: 'nowhere.md' },
    { kind: 'page', written: '#nothing', address: page.address, anchor: 'nothing' },
  ] as const;
  const broken = { ...page, address: 'alone.html', links };
  const changed = { ...site, pages: [...site.pages, broken] };
  expect(brokenLinks(changed)).toEqual([`${page.source.path}: nowhere.md`, `${page.source.path}: #nothing`]);
  expect(unreachable(changed)).toEqual([page.source.path]);
});
