import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { systemClock } from '#libs/runtime/system';
import { saveFleet } from '../../services/cli/commands/rehearse/read-fleet';
import { runLine } from '../../services/cli/testing/run-line';
import { accessibilityProblems, COLOUR_RULES, drawnMap, openPage, startChromium } from './chromium';
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

/** Acts by a button and its dialog. */
async function act(page: Page, label: string, say: Readonly<Record<string, string>> = {}): Promise<void> {
  await page.getByRole('button', { name: label, exact: true }).click();
  const dialog = page.getByRole('dialog');
  for (const [field, text] of Object.entries(say)) await dialog.getByLabel(field).fill(text);
  await dialog.getByRole('button', { name: label, exact: true }).click();
  await dialog.waitFor({ state: 'hidden' });
}

/** The subject of a page, its path, and a heading that it has once its data is there. */
const PAGES: readonly (readonly [what: string, path: () => string, heading: string])[] = [
  ['a host', () => '/hosts/host-1', 'Recent attempts'],
  ['an instance', () => `/instances/${uuids[0]}`, 'Claims'],
  ['the instances', () => '/instances', 'Instances'],
  ['builds', () => '/builds', 'Pending, in order'],
  ['health', () => '/health', 'Queues'],
  ['an explanation to come', () => '/explain', 'Request'],
  ['capacity', () => '/capacity', 'What still fits'],
  ['guarantees', () => '/guarantees', 'What may be lost'],
  ['reservations', () => '/reservations', 'What is reserved'],
  ['rehearsals', () => '/rehearsals', 'Rehearsals'],
  ['an explanation', () => '/explain?resources=VCPU:99', 'No host can ever fit'],
];

const NARROW = { width: 390, height: 800 };
const WIDTHS = [NARROW.width, 800, 1_280];

it.each(PAGES)(
  'shows the page of %s without an accessibility problem, in both themes, and in narrow windows',
  async (_what, path, heading) => {
    const { page, problems } = await openPage(browser, fleet.url, { colorScheme: 'light' });
    await page.goto(path());
    await page.getByRole('heading', { name: heading }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('html[data-theme="dark"]').waitFor();
    expect(await accessibilityProblems(page, COLOUR_RULES)).toEqual([]);
    for (const width of WIDTHS) {
      await page.setViewportSize({ ...NARROW, width });
      expect(await widthOf(page)).toBe(width);
    }
    expect(problems).toEqual([]);
    await page.context().close();
  },
);

it('fits the map of the fleet into a narrow window', async () => {
  const { page } = await openPage(browser, fleet.url, { viewport: NARROW });
  await page.goto('/fleet');
  await drawnMap(page, 8);
  expect(await widthOf(page)).toBe(NARROW.width);
  await page.context().close();
});

function widthOf(page: Page): Promise<number> {
  return page.locator(':root').evaluate((element) => (element as unknown as { scrollWidth: number }).scrollWidth);
}

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

it('shows what may be lost, and how many more of a flavor fit under that', async () => {
  const resources = { VCPU: 1, MEMORY_MB: 64 };
  await fleet.client.createFlavor({ name: 'of-a-guarantee', description: '', resources, extraSpecs: {} });
  const terms = { lose: 'host', count: 1, aggregate: '', minPriority: 0, policy: 'flag' } as const;
  await fleet.client.setGuarantee({ name: 'any-host', ...terms });
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/guarantees');
  const row = page.getByRole('row').filter({ hasText: 'any-host' });
  await row.filter({ hasText: 'holds' }).filter({ hasText: '8 of 8' }).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByLabel('Flavor').selectOption('of-a-guarantee');
  await page.getByText(/more of of-a-guarantee fit/).waitFor();
  await fleet.client.deleteGuarantee('any-host');
  await page.getByText('No loss is guaranteed').waitFor();
  await page.context().close();
});

it('shows what is reserved, when, where, and what can not be kept', async () => {
  const fromMs = systemClock().now() + 3_600_000;
  const spec = { projectId: 'shop', userId: 'ann', resources: { VCPU: 1 }, forceHosts: ['host-8'] };
  const terms = { name: 'night', fromMs, untilMs: fromMs + 7_200_000, count: 2, spec };
  await fleet.client.createReservation(terms);
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/reservations');
  const row = page.getByRole('row').filter({ hasText: 'night' });
  await row.filter({ hasText: '2 on host-8' }).filter({ hasText: '0 of 2' }).getByText('held').waitFor();
  expect(await row.innerText()).toMatch(/shop.*2 h.*1 VCPU/s);
  expect(await accessibilityProblems(page)).toEqual([]);
  await fleet.client.setHostEnabled('host-8', false, 'new fans');
  await row.getByText('at risk').waitFor();
  await page.getByRole('heading', { name: 'What can’t be kept' }).waitFor();
  await page.getByText('night: 2 of 2 units have no host.').waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await fleet.client.setHostEnabled('host-8', true, '');
  await row.getByText('held').waitFor();
  await fleet.client.deleteReservation('night');
  await page.getByText('Nothing is reserved').waitFor();
  await page.context().close();
});

it('shows the report of a rehearsal, before and after side by side, and names a file that is none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-console-'));
  const file = join(folder, 'fleet.json.gz');
  await saveFleet(await fleet.snapshot(), file);
  // A host with something to move.
  const { host } = await fleet.client.instance(uuids[3] ?? '');
  const { out } = await runLine(`rehearse drain ${host} --from ${file} --seeds 2 --jobs 1 --build-time 5 --json`);
  const { page, problems } = await openPage(browser, fleet.url);
  await page.goto('/rehearsals');
  await page.getByText('No report is open').waitFor();
  await page.getByText('Open a report of a file').click();
  const open = (name: string, text: string) =>
    page.getByLabel('Report').setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
  await open('notes.json', '{"title":"notes"}');
  await page.getByText('notes.json is no report of berth rehearse --json.').waitFor();
  await open('report.json', out);
  await page.getByRole('heading', { name: `Drain ${host}` }).waitFor();
  await page.getByText('Rehearsed 2 times on 8 hosts').waitFor();
  const row = page.getByRole('table').filter({ hasText: 'Before' }).getByRole('row').filter({ hasText: 'VCPU' });
  expect(await row.innerText()).toMatch(/\/ 128[^]*\/ 112/);
  const plot = page.getByRole('group', { name: /^Arrivals of instances/ });
  await plot.press('ArrowLeft');
  await plot.getByText(/^arrived \d/).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(problems).toEqual([]);
  await rm(folder, { recursive: true });
  await page.context().close();
});

it('shows the loss of each host in turn, from a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'berth-console-'));
  const file = join(folder, 'fleet.json.gz');
  await saveFleet(await fleet.snapshot(), file);
  const line = `rehearse lose --each host --evacuate --from ${file} --seeds 1 --jobs 1 --build-time 5 --json`;
  const { out } = await runLine(line);
  const { page, problems } = await openPage(browser, fleet.url);
  await page.goto('/rehearsals');
  await page.getByText('Open a report of a file').click();
  const buffer = Buffer.from(out);
  await page.getByLabel('Report').setInputFiles({ name: 'report.json', mimeType: 'application/json', buffer });
  await page.getByRole('heading', { name: 'Lose each of 8 domains, one at a time' }).waitFor();
  const rows = page.getByRole('table').filter({ hasText: 'Lost' }).getByRole('row');
  await rows.filter({ hasText: 'host-8' }).waitFor();
  expect(await rows.count()).toBe(9);
  expect(await page.locator('.figure').filter({ hasText: 'Could be lost' }).innerText()).toContain('8 of 8');
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(problems).toEqual([]);
  await rm(folder, { recursive: true });
  await page.context().close();
});

it('rehearses a drain in a process of its own, and cancels another', async () => {
  const before = (await fleet.client.instances({})).map(({ uuid, host }) => [uuid, host]);
  const { page, problems } = await openPage(browser, fleet.url);
  await page.goto('/rehearsals');
  await page.getByText('None yet.').waitFor();
  await page.getByLabel('Operation').selectOption('drain');
  await page.getByRole('button', { name: 'Rehearse', exact: true }).click();
  await page.getByRole('alert').getByText('bad_rehearsal').waitFor();
  await page.getByRole('textbox', { name: /^Hosts/ }).fill('host-1, host-2');
  await page.getByText('Chances, traffic and weights').click();
  await page.getByLabel('Repetitions').fill('3');
  await page.getByRole('button', { name: 'Rehearse', exact: true }).click();
  const runs = page.getByRole('table', { name: 'Rehearsals of this console' });
  const run = runs.getByRole('row').filter({ hasText: 'berth rehearse drain --seeds=3 -- host-1 host-2' });
  await run.waitFor();
  // It starts a process, after all others of a busy machine.
  await page.getByRole('heading', { name: 'Drain host-1, host-2' }).waitFor({ timeout: 90_000 });
  await page.getByText('Rehearsed 3 times on 8 hosts').waitFor();
  await page.getByRole('heading', { name: 'Before and after' }).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole('textbox', { name: /^Hosts/ }).fill('host-3');
  await page.getByLabel('Repetitions').fill('100');
  await page.getByRole('button', { name: 'Rehearse', exact: true }).click();
  const another = runs.getByRole('row').filter({ hasText: '-- host-3' });
  await another.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).last().click();
  await another.getByText('cancelled').waitFor();
  await run.getByRole('link').click();
  await page.getByRole('heading', { name: 'Drain host-1, host-2' }).waitFor();
  expect((await fleet.client.instances({})).map(({ uuid, host }) => [uuid, host])).toEqual(before);
  expect(problems.filter((problem) => !problem.includes('400'))).toEqual([]);
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
  await act(page, 'Disable', { Reason: 'new disks' });
  await page.getByText('new disks').waitFor();
  expect((await fleet.client.hosts('host-2'))[0]).toMatchObject({ enabled: false, disabledReason: 'new disks' });
  await act(page, 'Enable');
  await page.getByRole('button', { name: 'Disable' }).waitFor();
  await page.getByRole('link', { name: 'Builds' }).click();
  const deeds = page.getByRole('table', { name: 'Activity log' });
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
  await page.getByText(new RegExp(`Moved \\d+ instances? off ${host}. New instances are blocked.`)).waitFor();
  await page.getByText('No instances are on this host.').waitFor();
  expect((await fleet.client.instance(uuids[1] ?? '')).host).not.toBe(host);
  await fleet.client.setHostEnabled(host, true);
  await page.context().close();
});

it('terminates an instance, whose page says so', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto(`/instances/${uuids[2]}`);
  await page.getByText('Attempt 1').waitFor();
  await page.getByRole('button', { name: 'Terminate' }).click();
  await page.getByRole('heading', { name: 'web-3 will be permanently deleted.' }).waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Terminate' }).click();
  await page.getByText('DELETED', { exact: true }).first().waitFor();
  await page.getByText('It has no claims.').waitFor();
  expect((await fleet.client.instance(uuids[2] ?? '')).state).toBe('deleted');
  await page.context().close();
});

it('says why what was asked is refused', async () => {
  const { page } = await openPage(browser, fleet.url);
  const { host } = await fleet.client.instance(uuids[3] ?? '');
  await page.goto(`/instances/${uuids[3]}`);
  await page.getByRole('button', { name: 'Live-migrate' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Target host (empty: any)').fill(`no such host`);
  await dialog.getByRole('button', { name: 'Live-migrate' }).click();
  await dialog.getByRole('alert').getByText(/host/).waitFor();
  expect((await fleet.client.instance(uuids[3] ?? '')).host).toBe(host);
  await page.context().close();
});

it('explains as one types, and keeps the question in the address', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/explain');
  await page.getByLabel('Resources').fill('VCPU:2,MEMORY_MB:1024');
  await page.getByText('8 of 8 hosts fit').waitFor();
  await page.getByLabel('Required traits').fill('HW_GPU_API_VULKAN');
  await page.getByRole('heading', { name: 'No host can ever fit' }).waitFor();
  await page.getByText('nobody offers trait HW_GPU_API_VULKAN').waitFor();
  const { page: colleague } = await openPage(browser, fleet.url);
  await colleague.goto(page.url());
  await colleague.getByRole('heading', { name: 'No host can ever fit' }).waitFor();
  await page.getByLabel('Resources').fill('VCPU:many');
  await page.getByText("'VCPU:many' is not CLASS:AMOUNT").waitFor();
  expect(new URL(page.url()).searchParams.get('required')).toBe('HW_GPU_API_VULKAN');
  await Promise.all([page.context().close(), colleague.context().close()]);
});

it('lists the hosts that a filter or a reason counts', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/explain?resources=VCPU:99');
  await page
    .locator('.funnel-refused')
    .filter({ hasText: 'capacity' })
    .getByRole('link', { name: '8' })
    .first()
    .click();
  await page.getByRole('heading', { name: '8 hosts refused by capacity' }).waitFor();
  expect(page.url()).toMatch(/\/explain\?resources=VCPU%3A99&refused=capacity#hosts$/);
  await page.locator('.funnel-note').getByRole('link', { name: '8' }).click();
  await page.getByRole('heading', { name: '8 hosts refused by capacity vcpu' }).waitFor();
  await page
    .getByText(/has \d+ VCPU/)
    .first()
    .waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole('link', { name: 'Show the best hosts' }).click();
  await page.getByRole('heading', { name: /refused by/ }).waitFor({ state: 'detached' });
  await page.context().close();
});

it('tells a request that can never fit from one that finds every host in use', async () => {
  const { page } = await openPage(browser, fleet.url);
  const spec = { projectId: 'shop', userId: 'ann', resources: { VCPU: 9 } };
  const onEachHost = await fleet.client.buildAndWait({ spec, count: 8, name: 'half' });
  await page.goto('/explain?resources=VCPU:16');
  await page.getByRole('heading', { name: 'No valid host' }).waitFor();
  expect(await page.getByText('No host can ever fit').count()).toBe(0);
  const huge = { ...spec, resources: { VCPU: 99 } };
  const { instanceUuids } = await fleet.client.build({ spec: huge, admission: { waitForCapacityMs: 600_000 } });
  await page.goto(`/instances/${instanceUuids[0]}`);
  await page.getByText('No host can ever fit').waitFor();
  await page.getByText('the largest host has 16 VCPU: 99 can never fit').waitFor();
  const built = [...onEachHost.map(({ instanceUuid }) => instanceUuid), ...instanceUuids];
  await Promise.all(built.map((uuid) => fleet.client.terminateAndWait(uuid)));
  await page.context().close();
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

describe('the palette', () => {
  it('finds hosts and instances by keys alone, exact names first, and says when nothing matches', async () => {
    const { page } = await openPage(browser, fleet.url);
    await page.goto('/fleet');
    await drawnMap(page, 8);
    await page.keyboard.press('/');
    const input = page.getByRole('combobox', { name: 'Find a host, an instance, a project or a page' });
    await input.fill('host-4');
    await page.getByRole('option', { name: 'host-4' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    await input.press('Enter');
    await page.waitForURL('**/hosts/host-4');
    await page.keyboard.press('Control+k');
    await input.fill((uuids[4] ?? '').slice(0, 8));
    await page.getByRole('option', { name: 'web-5' }).waitFor();
    await input.press('Enter');
    await page.waitForURL(`**/instances/${uuids[4]}`);
    await page.getByRole('heading', { level: 1, name: 'web-5' }).waitFor();
    await page.keyboard.press('/');
    await input.fill('no such thing');
    await page.getByText('No match for “no such thing”').waitFor();
    await input.press('Escape');
    await input.waitFor({ state: 'hidden' });
    await page.context().close();
  });

  it('leads to pages, and opens the chosen one when Enter comes before the answer', async () => {
    const { page } = await openPage(browser, fleet.url);
    let answer = () => {};
    const entered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/api/search?*', async (route) => {
      await entered;
      await route.continue();
    });
    await page.goto('/fleet');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.keyboard.type('hea');
    await page.getByRole('option', { name: 'Health' }).waitFor();
    await page.keyboard.press('Enter');
    answer();
    await page.waitForURL('**/health');
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Health');
    await page.context().close();
  });
});

it('filters instances by the address, and ends several with one confirmation that names them', async () => {
  const mine = await build(fleet, 3, 'm1.small', 'batch');
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/instances?name=batch&flavor=m1.small');
  const rows = page.getByRole('table', { name: 'Instances' });
  await page.getByText('3 instances', { exact: true }).waitFor();
  await rows.getByRole('checkbox', { name: 'Select batch-1' }).check();
  await rows.getByRole('checkbox', { name: 'Select batch-2' }).check();
  await page.getByText('2 selected').waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole('button', { name: 'Terminate' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: '2 instances will be permanently deleted.' }).waitFor();
  await dialog.getByText(/batch-[12] on host-\d, batch-[12] on host-\d\./).waitFor();
  await dialog.getByRole('button', { name: 'Terminate' }).click();
  await page.getByText('2 instances are being deleted.').waitFor();
  await page.getByText('1 instance', { exact: true }).waitFor();
  expect((await fleet.client.instance(mine[2] ?? '')).state).toBe('active');
  await page.getByRole('button', { name: /^DELETED/ }).click();
  await rows.getByRole('link', { name: 'batch-2' }).waitFor();
  expect(page.url()).toContain('state=deleted');
  await fleet.client.terminateAndWait(mine[2] ?? '');
  await page.context().close();
});

it('leads from each figure to what it counts', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/builds');
  const figure = page.locator('.figure').filter({ hasText: 'Built' });
  const count = Number(await figure.locator('a').innerText());
  expect(count).toBeGreaterThan(0);
  await figure.getByRole('link').click();
  await page.waitForURL('**/instances?state=active&since=10m');
  await page.getByRole('heading', { level: 1, name: 'Instances' }).waitFor();
  await page.goto('/capacity');
  await page.getByRole('row').filter({ hasText: 'nova' }).getByRole('link', { name: '8' }).first().click();
  await page.waitForURL('**/fleet?filter=zone%3Anova&view=list');
  await page.getByRole('link', { name: 'host-8' }).waitFor();
  await page.context().close();
});

/** Numbers that count nothing that a page lists; the number in a section's head counts the rows below it. By the head of their column, or their label. */
const NO_COUNTS = ['Place', 'Priority', 'Ratio', 'External', 'Reserved', 'Weight', 'Share', 'Time', 'Took'];

it.each(PAGES)('links each number on the page of %s to what it counts', async (_what, path, heading) => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto(path());
  await page.getByRole('heading', { name: heading }).waitFor();
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  const unlinked = await page.locator('main td.num, main .vtable-row .num, main .figure dd').evaluateAll((cells) =>
    cells.flatMap((one) => {
      const cell = one as unknown as Cell;
      const isLinked = cell.querySelector('a, select, time') !== null || !/\d/.test(cell.textContent);
      if (isLinked) return [];
      const at = [...cell.parentElement.children].indexOf(cell);
      const table = cell.closest('table, .vtable');
      const heads = [...(table?.querySelectorAll('thead th, .vtable-head > div') ?? [])];
      const label = heads[at]?.textContent ?? cell.parentElement.querySelector('dt, h2')?.textContent ?? '';
      return [`${label}: ${cell.textContent}`];
    }),
  );
  expect(unlinked.filter((text) => !NO_COUNTS.some((label) => text.startsWith(label)))).toEqual([]);
  await page.context().close();
});

interface Cell {
  readonly textContent: string;
  readonly parentElement: Cell & { readonly children: Iterable<Cell> };
  querySelector(selector: string): Cell | null;
  querySelectorAll(selector: string): Iterable<Cell>;
  closest(selector: string): Cell | null;
}

it('tells the values of a chart at the pointer, and by arrow keys', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/builds');
  const plot = page.getByRole('group', { name: /^Ended, every 5 s/ });
  await plot.hover();
  await plot.getByText(/^ACTIVE \d+/).waitFor();
  await plot.press('ArrowLeft');
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByLabel('Time range').selectOption('1h');
  await page.waitForURL('**/builds?range=1h');
  await page.getByText('Ended, every 60 s').waitFor();
  await page.context().close();
});

it('tells the values of the history of a host at the pointer', async () => {
  const { page } = await openPage(browser, fleet.url);
  const { host } = await fleet.client.instance(uuids[0] ?? '');
  await page.goto(`/hosts/${host}`);
  const plot = page.getByRole('group', { name: 'VCPU: arrow keys tell the values' });
  await plot.hover();
  await plot.getByText(/^used \d/).waitFor();
  await plot.getByText(/^capacity \d/).waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.context().close();
});

it('shows the processes with their state, and the chosen host in a decision', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/health');
  await page.getByRole('row').filter({ hasText: 'scheduler-1' }).getByText('ready').waitFor();
  await page.goto(`/instances/${uuids[0]}`);
  await page.locator('tr.chosen').getByText('chosen').waitFor();
  await page.getByRole('link', { name: 'Explain the same request now' }).click();
  await page.getByText('8 of 8 hosts fit').waitFor();
  expect(page.url()).toMatch(/\/explain\?flavor=m1.small&project=shop$/);
  await page.context().close();
});
