import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { accessibilityProblems, openPage, startChromium } from './chromium';
import { type LivingFleet, startLivingFleet } from './living-fleet';

let browser: Browser;
let fleet: LivingFleet;
let folder: string;
let file: string;

const ANN = { token: 'token-of-the-admin', user_id: 'ann', project_id: 'ops', roles: ['admin'] };
const ROB = { token: 'token-of-the-reader', user_id: 'rob', project_id: 'ops', roles: ['reader'] };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-console-'));
  file = join(folder, 'tokens.json');
  writeFileSync(file, JSON.stringify([ANN, ROB]));
  const auth = { BERTH_PLACEMENT_AUTH: 'tokens', BERTH_PLACEMENT_TOKENS_FILE: file };
  [browser, fleet] = await Promise.all([startChromium(), startLivingFleet(3, auth)]);
});
afterAll(async () => {
  await browser.close();
  await fleet.close();
  rmSync(folder, { recursive: true });
});

it('asks for a token, refuses a wrong one, and shows the page that was asked for', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/hosts/host-1');
  await page.getByLabel('Token').fill('guessed');
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The token is not known.').waitFor();
  await page.getByLabel('Token').fill('token-of-the-admin');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'host-1', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Disable' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'host-1', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token').waitFor();
  await page.context().close();
});

it('shows everything to a reader, and nothing to act with', async () => {
  const { page } = await openPage(browser, fleet.url);
  await page.goto('/hosts/host-1');
  await page.getByLabel('Token').fill('token-of-the-reader');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Resources' }).waitFor();
  await page.getByText('read only').waitFor();
  expect(await page.getByRole('button', { name: /Disable|Drain/ }).count()).toBe(0);
  await page.context().close();
});
