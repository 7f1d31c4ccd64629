import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '#libs/domain/clock';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { seededRandom } from '#libs/domain/random';
import { mapConcurrently } from '#libs/runtime/concurrent';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aReport, commit, mustReport } from '#libs/testing/placement/placement';
import { demoRequests } from '../../services/cli/demo/workload';
import { type EmbeddedFleet, startEmbedded } from '../../services/cli/embedded/fleet';
import { Browse } from '../../services/console/testing/browse';
import { openPage, startChromium } from './chromium';

/*
 * `npm run screenshots`: the pictures of the console's README, of a fleet of 2,000 hosts with failures, drains, hosts that are down
 * and requests that wait.
 */

const FOLDER = join(__dirname, '../../../services/console/screenshots');
const HOSTS = 1_990;
const DOWN = 10;
const RACK = 50;
const ZONES = ['north', 'south', 'west'];
const BUILDS = 4_000;
const DRAINS = 8;
const SHAPE = { VCPU: 8, MEMORY_MB: 16_384, DISK_GB: 100 };

const clock = systemClock();
const random = seededRandom(7);

async function main(): Promise<void> {
  const context = {
    env: { BERTH_CONSOLE_PORT: '0', BERTH_CONSOLE_HISTORY_STEP_MS: '1000' },
    clock,
    random: systemRandom,
    interrupted: new AbortController().signal,
  };
  const fleet = await startEmbedded(context, {
    schedulers: 2,
    conductors: 2,
    hosts: HOSTS,
    shape: SHAPE,
    failureRate: 0.08,
    latencyMs: 300,
  });
  const browser = await startChromium();
  try {
    await furnish(fleet);
    const url = await fleet.openConsole();
    await fill(fleet);
    const browse = new Browse(url);
    const { csrfToken } = (await browse.ask('GET', '/api/session')).body as { csrfToken: string };
    const act = (host: string, body: object) =>
      browse.ask('POST', `/api/hosts/${host}/actions`, body, { 'x-csrf-token': csrfToken });
    const some = (await fleet.client.instances({}, 2_000)).filter(
      ({ attempts, state }) => state === 'active' && attempts.length > 2,
    );
    const [told] = some;
    const fullest = (await fleet.client.hosts()).toSorted((a, b) => b.instances - a.instances).map(({ host }) => host);
    for (const n of [14, 300, 301, 302, 777])
      await act(`host-${String(n).padStart(4, '0')}`, { action: 'disable', reason: 'new disks' });
    await act('host-0999', { action: 'trust' });
    // Hosts that are being drained while the picture is taken.
    const drains = ['host', 'fleet', 'fleet-dark'];
    const pictures = [
      ['host', `/hosts/${fullest[0]}`, 'light'],
      ['fleet', '/fleet', 'light'],
      ['fleet-dark', '/fleet?group=rack&colour=failures', 'dark'],
      ['instance', `/instances/${told?.uuid}`, 'light'],
      ['instances', '/instances', 'light'],
      ['builds', '/builds', 'light'],
      ['capacity', '/capacity', 'dark'],
      ['explain', '/explain?resources=VCPU:6,MEMORY_MB:8192&zone=south', 'light'],
      ['health', '/health', 'light'],
    ] as const;
    mkdirSync(FOLDER, { recursive: true });
    for (const [name, path, colorScheme] of pictures) {
      const { page } = await openPage(browser, url, { colorScheme });
      await page.goto(path);
      await page.getByText('Live', { exact: true }).waitFor();
      await sleep(clock, 1_000);
      // A drain takes a second or two: whoever looks after it began may be late.
      const drainShown = name === 'host' ? page.getByText(/\d of \d+ moved off/).waitFor() : sleep(clock, 500);
      if (drains.includes(name)) {
        const hosts = fullest.splice(0, DRAINS);
        await Promise.all(hosts.map((host) => act(host, { action: 'drain', reason: 'firmware' })));
      }
      await drainShown;
      await page.screenshot({ path: join(FOLDER, `${name}.png`) });
      await page.context().close();
    }
  } finally {
    await browser.close();
    await fleet.close();
  }
}

/** Zones, racks, flavors, quotas; and hosts that have gone silent. */
async function furnish({ client, placement }: EmbeddedFleet): Promise<void> {
  for (const [name, vcpus] of [
    ['m1.small', 1],
    ['m1.medium', 2],
    ['m1.large', 4],
    ['m1.xlarge', 8],
  ] as const) {
    const resources = { VCPU: vcpus, MEMORY_MB: vcpus * 2_048, DISK_GB: vcpus * 10 };
    await client.createFlavor({ name, resources, description: '', extraSpecs: {} });
  }
  for (const [project, vcpus] of [
    ['shop', 12_000],
    ['search', 8_000],
    ['demo', 30_000],
  ] as const) {
    await client.setQuota(project, { limits: { VCPU: vcpus, instances: vcpus / 2 } });
  }
  for (let n = 1; n <= DOWN; n++) {
    const host = `host-${HOSTS + n}`;
    await mustReport(placement, aReport({ host, providerUuid: random.uuid(), atMs: clock.now() - 600_000 }));
  }
  await commit(placement, {
    kind: 'sweep_hosts',
    atMs: clock.now(),
    silentSinceMs: clock.now() - 300_000,
    limit: 1_000,
  });
  const hosts = (await client.hosts()).map(({ host }) => host);
  for (const zone of ZONES) await client.aggregates.create(zone, { [ZONE_KEY]: zone });
  const racks = Math.ceil(hosts.length / RACK);
  for (let r = 0; r < racks; r++) await client.aggregates.create(`rack-${r + 1}`, { rack: `r${r + 1}` });
  await mapConcurrently([...hosts.entries()], 16, async ([n, host]) => {
    await client.aggregates.addHost(ZONES[Math.floor((n / hosts.length) * ZONES.length)] ?? '', host);
    await client.aggregates.addHost(`rack-${Math.floor(n / RACK) + 1}`, host);
  });
}

/** Builds, some of which fail or end soon; and some for which there is no room. */
async function fill({ client }: EmbeddedFleet): Promise<void> {
  await mapConcurrently([...demoRequests(random, BUILDS).entries()], 128, async ([n, request]) => {
    const projectId = ['demo', 'shop', 'search'][n % 3] ?? 'demo';
    await client.buildAndWait({ ...request, spec: { ...request.spec, projectId } });
  });
  for (let n = 0; n < 6; n++) {
    const resources = { VCPU: 12, MEMORY_MB: 24_576, DISK_GB: 60 };
    const spec = { projectId: n % 2 ? 'search' : 'shop', userId: 'ann', resources };
    await client.build({ spec, name: `train-${n + 1}`, admission: { waitForCapacityMs: 600_000 } });
  }
}

main().then(
  () => process.exit(0),
  (thrown: unknown) => {
    process.stderr.write(`${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
    process.exit(1);
  },
);
