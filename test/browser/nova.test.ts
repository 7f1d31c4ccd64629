import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { aNovaDecision, aShadowReport } from '../../services/console/testing/nova';
import { accessibilityProblems, COLOUR_RULES, openPage, startChromium } from './chromium';
import { type LivingFleet, startLivingFleet } from './living-fleet';

const REQUEST = '0d5c8d5e-4c1f-4b5e-9d5a-6f1f0f6f2b1a';
const OTHER = '3f1c2b6a-9d0e-4a7b-8c5d-2e4f6a8b0c1d';
const INSTANCE = '11111111-0000-4000-8000-000000000001';
const REASON = '3 hosts: placement refuses 3 (trait CUSTOM_NOPE is missing: 3).';

let browser: Browser;
let fleet: LivingFleet;
const shadow = createServer((_request, response) => response.end(JSON.stringify(aShadowReport())));

beforeAll(async () => {
  await once(shadow.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(shadow.address() as AddressInfo).port}`;
  const env = { BERTH_CONSOLE_NOVA_SHADOW_URL: url };
  [browser, fleet] = await Promise.all([startChromium(), startLivingFleet(3, env)]);
  const decisions = [
    aNovaDecision({ requestId: OTHER, instance: INSTANCE, host: 'compute-7' }),
    aNovaDecision({ requestId: REQUEST, instance: INSTANCE, reason: REASON }),
  ];
  await fleet.placement.keepDecisions(decisions, 10);
});
afterAll(async () => {
  await browser.close();
  await fleet.close();
  shadow.closeAllConnections();
  shadow.close();
});

it("shows Nova's decisions, why there is no valid host, and how often a shadow agrees", async () => {
  const { page, problems } = await openPage(browser, fleet.url, { colorScheme: 'light' });
  await page.goto('/fleet');
  await page.getByRole('link', { name: 'Nova' }).click();
  await page.getByText('compute-7').waitFor();
  await page.getByText('80%, 8 of 10 instances').waitFor();
  await page.getByText('h2 weighs the same').waitFor();
  await page
    .getByRole('link', { name: `req-${REQUEST}` })
    .first()
    .click();
  await page.getByText(`No valid host was found. ${REASON}`).waitFor();
  expect(page.url()).toContain(`/nova?request=req-${REQUEST}`);
  expect(await accessibilityProblems(page)).toEqual([]);
  expect(problems).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.locator('html[data-theme="dark"]').waitFor();
  expect(await accessibilityProblems(page, COLOUR_RULES)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 800 });
  expect(await page.locator(':root').evaluate((root) => (root as unknown as { scrollWidth: number }).scrollWidth)).toBe(
    390,
  );
  expect(problems).toEqual([]);
  await page.context().close();
});

it("finds a request by Nova's id of it", async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/health');
  await page.getByRole('heading', { name: 'Queues' }).waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type(`req-${OTHER}`);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: `req-${OTHER}` }).waitFor();
  await page.getByText(`compute-7 for ${INSTANCE}`).waitFor();
  expect(page.url()).toContain(`/nova?request=req-${OTHER}`);
  await page.context().close();
});
