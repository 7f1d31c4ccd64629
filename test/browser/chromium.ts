import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { findBinary } from '#libs/testing/servers/find-binary';

/** Debian's; installed when the tests run as root. */
const CHROMIUM = { name: 'chromium', folders: ['/usr/bin'], debianPackage: 'chromium' };

/** A private Chromium with a profile of its own, which goes with it. */
export function startChromium(): Promise<Browser> {
  const args = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ];
  return chromium.launch({ executablePath: findBinary(CHROMIUM), args });
}

/** A page, and what went wrong in it: errors of scripts, and of what it could not load. */
export interface OpenPage {
  readonly page: Page;
  readonly problems: readonly string[];
}

export async function openPage(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: { width: 1_360, height: 850 }, baseURL: url, ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(`${message.text()} ${message.location().url}`);
  });
  return { page, problems };
}

/** The map of the fleet page, once it has laid out so many hosts: before that, keys and the pointer find none on it. */
export async function drawnMap(page: Page, hosts: number): Promise<Locator> {
  const map = page.getByRole('application', { name: `Map of ${hosts} hosts` }).and(page.locator('[aria-busy="false"]'));
  await map.waitFor();
  return map;
}

/** All that the dark theme changes for axe. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/**
 * The faults that axe finds for people who do not see the page, or use no mouse: WCAG 2.2 A and AA, and best practices, or
 * only the named rules.
 */
export async function accessibilityProblems(page: Page, rules: readonly string[] = []): Promise<string[]> {
  // Told by the debugger, which the page's Content Security Policy does not bind.
  await page.evaluate(axe.source);
  // Passed checks need no description, and no way back from the browser.
  const options: axe.RunOptions = {
    resultTypes: ['violations'],
    ...(rules.length > 0 ? { runOnly: { type: 'rule', values: [...rules] } } : {}),
  };
  const violations = await page.evaluate(
    async (asked) => (await (globalThis as unknown as { axe: typeof axe }).axe.run(asked)).violations,
    options,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
}
