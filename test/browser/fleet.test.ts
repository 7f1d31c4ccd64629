import type { Browser } from 'playwright-core';
import { accessibilityProblems, drawnMap, openPage, startChromium } from './chromium';
import { build, type LivingFleet, startLivingFleet } from './living-fleet';

let browser: Browser;
let fleet: LivingFleet;

beforeAll(async () => {
  [browser, fleet] = await Promise.all([startChromium(), startLivingFleet()]);
  await build(fleet, 6);
});
afterAll(async () => {
  await browser.close();
  await fleet.close();
});

it.each(['light', 'dark'] as const)(
  'shows every host, and has no accessibility problem in the %s theme',
  async (colorScheme) => {
    const { page, problems } = await openPage(browser, fleet.url, { colorScheme });
    await page.goto('/fleet');
    await drawnMap(page, 8);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('button', { name: 'List' }).click();
    await page.getByRole('link', { name: 'host-8' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  },
);

it('shows what happens while it happens', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/fleet?view=list');
  const row = page.getByRole('row').filter({ hasText: 'host-3' });
  await row.getByText('up').waitFor();
  await fleet.client.setHostEnabled('host-3', false, 'disks');
  await row.getByText('disabled').waitFor();
  await page.getByRole('button', { name: 'Disabled 1' }).click();
  await page.getByRole('row').filter({ hasText: 'host-1' }).waitFor({ state: 'detached' });
  expect(page.url()).toContain('show=disabled');
  await fleet.client.setHostEnabled('host-3', true);
  await page.getByText('No host passes the filter').waitFor();
  await page.context().close();
});

it('is walked over by keys', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/fleet');
  await (await drawnMap(page, 8)).focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.getByText('host-2', { exact: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/hosts/host-2');
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('host-2');
  await page.context().close();
});
