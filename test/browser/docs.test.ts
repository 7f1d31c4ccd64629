import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { openWorld, type World } from '../../services/console/testing/world';
import { accessibilityProblems, COLOUR_RULES, openPage, startChromium } from './chromium';

/* The documentation as the console serves it; a private console without a fleet. */

const folder = mkdtempSync(join(tmpdir(), 'berth-docs-'));
let browser: Browser;
let world: World;

beforeAll(async () => {
  // Nobody has a token: nothing here is asked for by somebody who is signed in.
  writeFileSync(join(folder, 'tokens.json'), '[]');
  [browser, world] = await Promise.all([
    startChromium(),
    openWorld({ BERTH_PLACEMENT_AUTH: 'tokens', BERTH_PLACEMENT_TOKENS_FILE: join(folder, 'tokens.json') }),
  ]);
});
afterAll(async () => {
  await browser.close();
  await world.close();
  rmSync(folder, { recursive: true });
});

const PAGES = [
  '',
  'tutorial.html',
  'operating.html',
  'comparison.html',
  'concepts/moves.html',
  'reference/settings.html',
  'reference/commands/host-drain.html',
  'services/console.html',
  'deploy.html',
];

it.each(PAGES)(
  'shows /docs/%s without an accessibility problem, in both themes, to somebody who is not signed in',
  async (path) => {
    const { page, problems } = await openPage(browser, world.url, { colorScheme: 'light' });
    await page.goto(`/docs/${path}`);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await accessibilityProblems(page, COLOUR_RULES)).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  },
);

it.each(PAGES)('fits /docs/%s into a narrow window', async (path) => {
  const { page } = await openPage(browser, world.url, { viewport: { width: 390, height: 800 } });
  await page.goto(`/docs/${path}`);
  const root = page.locator('html');
  expect(await root.evaluate(({ scrollWidth }) => scrollWidth)).toBe(390);
  await page.context().close();
});

it('needs no script', async () => {
  const { page } = await openPage(browser, world.url, { javaScriptEnabled: false });
  await page.goto('/docs');
  await page.getByRole('navigation').getByRole('link', { name: 'Ten minutes with Berth' }).click();
  await page.getByRole('heading', { level: 1, name: 'Ten minutes with Berth' }).waitFor();
  expect(page.url()).toBe(`${world.url}/docs/tutorial.html`);
  await page.context().close();
});

it('is searched: exact headings first, by keys alone, and says when nothing matches', async () => {
  const { page, problems } = await openPage(browser, world.url);
  await page.goto('/docs/services/console.html');
  await page.keyboard.press('/');
  await page.keyboard.type('berth host drain');
  await page.getByRole('list', { name: 'Found' }).getByRole('link').first().waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/reference/commands/host-drain.html');
  await page.getByRole('searchbox', { name: 'Search the documentation' }).fill('xylophone');
  await page.getByText('No match for “xylophone”').waitFor();
  expect(problems).toEqual([]);
  await page.context().close();
});

it('answers 404 for a page that is not there, and 200 for every page of the navigation', async () => {
  const statusOf = async (path: string) => (await fetch(new URL(path, `${world.url}/docs/`))).status;
  expect(await statusOf('nothing.html')).toBe(404);
  expect(await statusOf('../../package.json')).toBe(404);
  const { page } = await openPage(browser, world.url);
  await page.goto('/docs/');
  const links = await page.getByRole('navigation').getByRole('link').all();
  const paths = await Promise.all(links.map((link) => link.getAttribute('href')));
  expect(paths.length).toBeGreaterThan(30);
  expect([...new Set(await Promise.all(paths.map((path) => statusOf(path ?? ''))))]).toEqual([200]);
  await page.context().close();
});
