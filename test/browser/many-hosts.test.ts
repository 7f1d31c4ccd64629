import type { Browser, Page } from 'playwright-core';
import { instanceEventCodec } from '#libs/contracts/instance';
import { instanceTopic } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import { inventory } from '#libs/domain/inventory';
import { randomInt, seededRandom } from '#libs/domain/random';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { percentile } from '#libs/runtime/percentiles';
import { systemClock } from '#libs/runtime/system';
import { aReport, aWrite, commit, mustReport } from '#libs/testing/placement/placement';
import { openWorld, type World } from '../../services/console/testing/world';
import { openPage, startChromium } from './chromium';

const HOSTS = 10_000;
const EVENTS_PER_SECOND = 1_000;
const MOST_AT_ONCE = 60;
const SECONDS = 8;
/** Limit of the page's mean processor time for a frame: events come in batches, however seldom it draws. */
const MOST_MS_A_FRAME = 200;

const clock = systemClock();
const random = seededRandom(1);
const providers: string[] = [];
let browser: Browser;
let world: World;

beforeAll(async () => {
  const placement = new MemoryPlacementStore();
  for (let n = 0; n < HOSTS; n++) {
    const providerUuid = random.uuid();
    providers.push(providerUuid);
    const inventories = { VCPU: inventory(64), MEMORY_MB: inventory(262_144), DISK_GB: inventory(2_000) };
    await mustReport(placement, aReport({ host: `host-${n}`, providerUuid, inventories, atMs: clock.now() }));
  }
  [browser, world] = await Promise.all([startChromium(), openWorld({}, placement)]);
});
afterAll(async () => {
  await browser.close();
  await world.close();
});

/** Claims for each change of a host's `enabled`, which pages filter by. */
const CLAIMS_PER_TOGGLE = 50;

/** Makes claims at a fixed rate, each with an event, until the signal; resolves to the rate reached. */
async function live(signal: AbortSignal): Promise<number> {
  let count = 0;
  const startedMs = clock.elapsed();
  while (!signal.aborted) {
    // Claims that this machine has no time for are left out: the server must have its turn.
    const due = Math.min(count + MOST_AT_ONCE, ((clock.elapsed() - startedMs) / 1_000) * EVENTS_PER_SECOND);
    for (; count < due; count++) {
      const n = randomInt(random, HOSTS);
      const uuid = random.uuid();
      if (count % CLAIMS_PER_TOGGLE === 0) {
        const enabled = count % (2 * CLAIMS_PER_TOGGLE) === 0;
        await commit(world.placement, { kind: 'set_host_enabled', host: `host-${n}`, enabled, reason: 'test' });
      }
      await commit(world.placement, {
        kind: 'write_allocations',
        consumers: [aWrite({ [providers[n] ?? '']: { VCPU: 1, MEMORY_MB: 2_048 } }, { uuid })],
      });
      const event = {
        instanceUuid: uuid,
        requestId: random.uuid(),
        projectId: 'p',
        state: 'active',
        host: `host-${n}`,
        atMs: clock.now(),
        version: 3,
        fault: undefined,
        attempts: [],
        name: 'i',
      } as const;
      await world.bus.publish(instanceTopic('active', 'p', uuid), {
        type: instanceEventCodec.type,
        body: instanceEventCodec.encode(event),
      });
    }
    await sleep(clock, 20);
  }
  return Math.round((count * 1_000) / (clock.elapsed() - startedMs));
}

/** Counts the page's processor time in its own thread from now on, in milliseconds. */
async function processorTimeOf(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const total = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1_000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
  };
  const before = await total();
  return async () => (await total()) - before;
}

it('does not tell a little as none', async () => {
  const uuid = random.uuid();
  const consumers = [aWrite({ [providers[0] ?? '']: { VCPU: 1 } }, { uuid })];
  await commit(world.placement, { kind: 'write_allocations', consumers });
  const { page } = await openPage(browser, world.url);
  await page.goto('/fleet');
  await page.locator('.figure', { hasText: 'VCPU' }).getByText('<1%').waitFor();
  const none = page.locator('.figure', { hasText: 'Memory' }).getByText('0%', { exact: true });
  expect(await none.isVisible()).toBe(true);
  await page.context().close();
});

it.each(['/fleet', '/fleet?view=list'])(
  'stays smooth on %s with 10,000 hosts and 1,000 events a second',
  async (path) => {
    const { page, problems } = await openPage(browser, world.url);
    await page.goto(path);
    await page
      .getByText(/^10,000/)
      .first()
      .waitFor();
    const processorTime = await processorTimeOf(page);
    const stop = new AbortController();
    const living = live(stop.signal);
    const frames = await page.evaluate((ms) => {
      interface Window {
        requestAnimationFrame(then: (at: number) => void): void;
        document: { querySelector(what: string): { scrollTop: number } | null };
      }
      const window = globalThis as unknown as Window;
      return new Promise<number[]>((resolve) => {
        const took: number[] = [];
        let first = 0;
        let last = 0;
        const onFrame = (at: number) => {
          if (last > 0) took.push(at - last);
          first ||= at;
          last = at;
          // The user scrolls, too.
          const table = window.document.querySelector('.vtable');
          if (table) table.scrollTop += 40;
          if (at - first < ms) window.requestAnimationFrame(onFrame);
          else resolve(took);
        };
        window.requestAnimationFrame(onFrame);
      });
    }, SECONDS * 1_000);
    stop.abort();
    const rate = await living;
    const msAFrame = (await processorTime()) / frames.length;
    const [p50, p95, p99] = [50, 95, 99].map((share) => Math.round(percentile(frames, share)));
    process.stdout.write(
      `measured: ${path}: ${HOSTS} hosts, ${rate} events/s, ${frames.length} frames, p50 ${p50} ms, p95 ${p95} ms, p99 ${p99} ms, ${msAFrame.toFixed(1)} ms of processor time each\n`,
    );
    expect(rate).toBeGreaterThan(EVENTS_PER_SECOND / 10);
    expect(msAFrame).toBeLessThanOrEqual(MOST_MS_A_FRAME);
    expect(problems).toEqual([]);
    await page.context().close();
  },
);

it('draws only the rows in sight', async () => {
  const { page } = await openPage(browser, world.url);
  await page.goto('/fleet?view=list');
  const table = page.getByRole('table', { name: 'Hosts' });
  await table.getByRole('row').nth(5).waitFor();
  expect(await table.getAttribute('aria-rowcount')).toBe(String(HOSTS + 1));
  expect(await table.getByRole('row').count()).toBeLessThan(100);
  await page.context().close();
});
