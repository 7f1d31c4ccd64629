import type { Browser } from 'playwright-core';
import { type Child, startChild } from '#libs/testing/servers/child';
import { freePort } from '#libs/testing/servers/server-process';
import { openPage, startChromium } from './chromium';

let browser: Browser;
let demo: Child;
let port: number;

/** `berth demo --console`, a process of its own. */
async function startDemo(): Promise<Child> {
  const child = startChild('services/cli/main.ts', ['demo', '--console', '--hosts', '4', '--builds', '8'], {
    BERTH_CONSOLE_PORT: String(port),
  });
  await child.says(`console: http://127.0.0.1:${port}`);
  return child;
}

beforeAll(async () => {
  port = await freePort();
  [browser, demo] = await Promise.all([startChromium(), startDemo()]);
});
afterAll(async () => {
  await browser.close();
  demo.process.kill('SIGINT');
  await demo.exit;
});

it('says that the server was killed, and is live again with the next one', async () => {
  const { page } = await openPage(browser, `http://127.0.0.1:${port}`);
  await page.goto('/fleet?view=list');
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'host-3' }).waitFor();
  demo.process.kill('SIGKILL');
  await demo.exit;
  await page.getByText('Reconnecting').waitFor();
  await page.getByText('The console does not answer. This page may be out of date.').waitFor();
  expect(await page.getByRole('link', { name: 'host-3' }).count()).toBe(1);
  demo = await startDemo();
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByText('The console does not answer').waitFor({ state: 'detached' });
  await page.context().close();
});

it('ends with Ctrl-C', async () => {
  demo.process.kill('SIGINT');
  expect(await demo.exit).toEqual({ code: 0, signal: null });
});
