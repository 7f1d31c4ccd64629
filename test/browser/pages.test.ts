import type { Browser, Page } from 'playwright-core';
import { accessibilityProblems, drawnMap, openPage, startChromium } from './chromium';
import { build, type LivingFleet, startLivingFleet } from './living-fleet';

let browser: Browser;
let fleet: LivingFleet;
let uuids: string[];

beforeAll(async () => {
  [browser, fleet] = await Promise.all([startChromium(), startLivingFleet()]);
  uuids = await build(fleet, 6);
});
afterAll(async () => {
  await browser.close();
  await fleet.close();
});

/** Does something by a button and its dialog. */
async function act(page: Page, label: string, say: Readonly<Record<string, string>> = {}): Promise<void> {
  await page.getByRole('button', { name: label, exact: true }).click();
  const dialog = page.getByRole('dialog');
  for (const [field, text] of Object.entries(say)) await dialog.getByLabel(field).fill(text);
  await dialog.getByRole('button', { name: label, exact: true }).click();
  await dialog.waitFor({ state: 'hidden' });
}

/** What a page is of, where it is, and a heading that it has once its data is there. */
const PAGES: readonly (readonly [what: string, path: () => string, heading: string])[] = [
  ['a host', () => '/hosts/host-1', 'Recent attempts'],
  ['an instance', () => `/instances/${uuids[0]}`, 'Claims'],
  ['builds', () => '/builds', 'Pending, in order'],
  ['capacity', () => '/capacity', 'What still fits'],
  ['an explanation', () => '/explain?resources=VCPU:99', 'What would help'],
];

it.each(PAGES.flatMap((one) => [[...one, 'light'] as const, [...one, 'dark'] as const]))(
  'shows the page of %s without an accessibility problem',
  async (_what, path, heading, colorScheme) => {
    const { page, problems } = await openPage(browser, fleet.url, { colorScheme });
    await page.goto(path());
    await page.getByRole('heading', { name: heading }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.context().close();
  },
);

it.each([['the fleet', () => '/fleet', ''] as const, ...PAGES])(
  'fits the page of %s into a narrow window',
  async (_what, path, heading) => {
    const { page } = await openPage(browser, fleet.url, { viewport: { width: 390, height: 800 } });
    await page.goto(path());
    await (heading === '' ? drawnMap(page, 8) : page.getByRole('heading', { name: heading }).waitFor());
    const width = await page.evaluate(
      () =>
        (globalThis as unknown as { document: { documentElement: { scrollWidth: number } } }).document.documentElement
          .scrollWidth,
    );
    expect(width).toBe(390);
    await page.context().close();
  },
);

it.each([
  ['/capacity', 'Capacity · Berth', 'Capacity'],
  ['/hosts/host-1', 'host-1 · Berth', 'host-1'],
  ['/hosts/nobody', 'nobody · Berth', 'Nothing to show'],
  ['/nonsense', 'No such page · Berth', 'There is no page /nonsense'],
])('names %s in its title, and its heading says what it is', async (path, title, heading) => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto(path);
  await page.getByRole('heading', { name: heading, exact: true }).waitFor();
  expect(await page.title()).toBe(title);
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.context().close();
});

it('goes on by keyboard in the page that a link leads to', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/capacity');
  await page.getByRole('link', { name: 'Builds' }).press('Enter');
  await page.getByRole('heading', { name: 'Builds', exact: true }).waitFor();
  expect(await page.locator('main:focus').count()).toBe(1);
  await page.context().close();
});

it('disables a host, says why, and tells of it who did it', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/hosts/host-2');
  await act(page, 'Disable', { 'Reason, for whoever asks later': 'new disks' });
  await page.getByText('new disks').waitFor();
  expect((await fleet.client.hosts('host-2'))[0]).toMatchObject({ enabled: false, disabledReason: 'new disks' });
  await act(page, 'Enable');
  await page.getByRole('button', { name: 'Disable' }).waitFor();
  await page.getByRole('link', { name: 'Builds' }).click();
  const deeds = page.getByRole('table', { name: 'Actions of operators' });
  await deeds
    .getByRole('row')
    .filter({ hasText: 'host disable' })
    .filter({ hasText: 'admin' })
    .filter({ hasText: 'new disks' })
    .waitFor();
  await deeds.getByRole('row').filter({ hasText: 'host enable' }).waitFor();
  await page.context().close();
});

it('drains a host, and shows how far it is', async () => {
  const { host } = await fleet.client.instance(uuids[1] ?? '');
  const { page } = await openPage(browser, fleet.url);
  await page.goto(`/hosts/${host}`);
  await act(page, 'Drain');
  await page.getByRole('heading', { name: 'Drained' }).waitFor();
  await page.getByText(/\d left, 0 stay, of \d/).waitFor();
  await page.getByText('Nothing runs here.').waitFor();
  expect((await fleet.client.instance(uuids[1] ?? '')).host).not.toBe(host);
  await fleet.client.setHostEnabled(host, true);
  await page.context().close();
});

it('terminates an instance, whose page says so', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto(`/instances/${uuids[2]}`);
  await page.getByText('Attempt 1').waitFor();
  await act(page, 'Terminate');
  await page.getByText('deleted').first().waitFor();
  await page.getByText('It holds nothing.').waitFor();
  expect((await fleet.client.instance(uuids[2] ?? '')).state).toBe('deleted');
  await page.context().close();
});

it('says why what was asked is refused', async () => {
  const { page } = await openPage(browser, fleet.url);
  const { host } = await fleet.client.instance(uuids[3] ?? '');
  await page.goto(`/instances/${uuids[3]}`);
  await page.getByRole('button', { name: 'Live-migrate' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Host, or empty for any').fill(`no such host`);
  await dialog.getByRole('button', { name: 'Live-migrate' }).click();
  await dialog.getByRole('alert').getByText(/host/).waitFor();
  expect((await fleet.client.instance(uuids[3] ?? '')).host).toBe(host);
  await page.context().close();
});

it('explains as one types, and keeps the question in the address', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/explain');
  await page.getByLabel('Resources').fill('VCPU:2,MEMORY_MB:1024');
  await page.getByText('8 hosts of 8 fit').waitFor();
  await page.getByLabel('Required traits').fill('HW_GPU_API_VULKAN');
  await page.getByRole('heading', { name: 'No valid host' }).waitFor();
  const { page: colleague } = await openPage(browser, fleet.url);
  await colleague.goto(page.url());
  await colleague.getByRole('heading', { name: 'No valid host' }).waitFor();
  await page.getByLabel('Resources').fill('VCPU:many');
  await page.getByText("'VCPU:many' is not CLASS:AMOUNT").waitFor();
  expect(new URL(page.url()).searchParams.get('required')).toBe('HW_GPU_API_VULKAN');
  await Promise.all([page.context().close(), colleague.context().close()]);
});

it('shows where the next member of a group may go, zone by zone', async () => {
  const { page } = await openPage(browser, fleet.url);
  const zones = [
    { zone: 'z2', members: 0, cells: ['b', 'a'], reason: '' },
    { zone: 'z1', members: 1, cells: [], reason: 'group_is_uneven' },
  ];
  await page.route('**/api/explain?*', async (route) => {
    const answered = await route.fetch();
    await route.fulfill({ json: { ...((await answered.json()) as object), zones } });
  });
  await page.goto('/explain?resources=VCPU:1');
  const table = page.getByRole('table', { name: 'Zones, first where the next member would go' });
  await table.waitFor();
  expect(await table.getByRole('row').allInnerTexts()).toEqual([
    expect.stringMatching(/^Zone\s+Members/i),
    expect.stringMatching(/^z2\s+0\s+yes\s+b, a$/),
    expect.stringMatching(/^z1\s+1\s+no\s+group is uneven$/),
  ]);
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.context().close();
});

it('counts how many more of a flavor fit', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/capacity');
  const row = page.getByRole('row').filter({ hasText: 'm1.large' });
  const countOf = async () => Number(/m1\.large(\d+)/.exec((await row.textContent()) ?? '')?.[1]);
  await row.waitFor();
  const before = await countOf();
  const [uuid = ''] = await build(fleet, 1, 'm1.large', 'large');
  await row.filter({ hasNotText: `m1.large${before}on` }).waitFor();
  expect(await countOf()).toBe(before - 1);
  await fleet.client.terminateAndWait(uuid);
  await page.context().close();
});

it('leads to the documentation', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/fleet');
  await page.getByRole('link', { name: 'Docs' }).click();
  await page.getByRole('link', { name: 'Ten minutes with Berth' }).first().waitFor();
  expect(page.url()).toBe(`${fleet.url}/docs/`);
  await page.context().close();
});

it('finds hosts and instances', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/fleet');
  const search = page
    .getByRole('searchbox', { name: 'Find a host or an instance' })
    .or(page.getByRole('combobox', { name: 'Find a host or an instance' }));
  await search.fill('host-4');
  await page.locator('#search-found option').first().waitFor({ state: 'attached' });
  await search.press('Enter');
  await page.waitForURL('**/hosts/host-4');
  await search.fill((uuids[4] ?? '').slice(0, 8));
  await page.locator('#search-found option').first().waitFor({ state: 'attached' });
  await search.press('Enter');
  await page.waitForURL(`**/instances/${uuids[4]}`);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('web-5');
  await page.context().close();
});
