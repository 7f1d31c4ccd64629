import { sleep } from '#libs/domain/clock';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { type Random, randomInt, seededRandom } from '#libs/domain/random';
import { mapConcurrently } from '#libs/runtime/concurrent';
import { counted } from '#libs/runtime/counted';
import type { Context } from '../context';
import type { EmbeddedFleet } from '../embedded/fleet';
import { startLate } from '../embedded/start-late';
import type { DemoSettings } from './run-demo';
import { demoRequests, demoShape } from './workload';

const BUILD_LATENCY_MS = 1_500;
const ZONES = ['east', 'west'];
const HOSTS_PER_RACK = 10;
/** Average pause between builds or terminations. */
const PAUSE_MS = 600;
const AT_ONCE = 32;
/** From the smallest to the largest request, which the capacity page counts. */
const FLAVORS = [
  { name: 'm1.small', resources: { VCPU: 1, MEMORY_MB: 2_048, DISK_GB: 10 } },
  { name: 'm1.medium', resources: { VCPU: 2, MEMORY_MB: 4_096, DISK_GB: 20 } },
  { name: 'm1.large', resources: { VCPU: 4, MEMORY_MB: 8_192, DISK_GB: 40 } },
];

/**
 * A fleet that lives until Ctrl-C, with a console: two zones of racks, three flavors, builds and terminations.
 *
 * @throws BerthError as in `startEmbedded` and `startConsole`.
 */
export async function runLiveDemo(context: Context, settings: DemoSettings): Promise<void> {
  const { terminal } = context;
  const shape = demoShape(settings.builds, settings.hosts);
  const fleet = await startLate(context, { ...settings, shape, latencyMs: BUILD_LATENCY_MS });
  try {
    await furnish(fleet);
    const url = await fleet.openConsole();
    terminal.print(`console: ${url}`);
    terminal.note(`instances are built and terminated on ${counted(settings.hosts, 'host')} until Ctrl-C`);
    await live(context, settings, fleet);
  } finally {
    await fleet.close();
  }
}

/** Zones, racks, flavors and a quota. */
async function furnish({ client }: EmbeddedFleet): Promise<void> {
  for (const { name, resources } of FLAVORS)
    await client.createFlavor({ name, resources, description: '', extraSpecs: {} });
  await client.setQuota('demo', { limits: { VCPU: 4_000, instances: 2_000 } });
  const hosts = (await client.hosts()).map(({ host }) => host);
  const zoneSize = Math.ceil(hosts.length / ZONES.length);
  for (const [z, zone] of ZONES.entries()) {
    await client.aggregates.create(zone, { [ZONE_KEY]: zone });
    const its = hosts.slice(z * zoneSize, (z + 1) * zoneSize);
    for (let r = 0; r * HOSTS_PER_RACK < its.length; r++) {
      const rack = `${zone}-${r + 1}`;
      await client.aggregates.create(`rack-${rack}`, { rack });
      const inRack = its.slice(r * HOSTS_PER_RACK, (r + 1) * HOSTS_PER_RACK);
      for (const host of inRack) {
        await client.aggregates.addHost(zone, host);
        await client.aggregates.addHost(`rack-${rack}`, host);
      }
    }
  }
}

/** Builds the demo's instances, then keeps their number roughly constant until Ctrl-C. */
async function live({ clock, interrupted, random }: Context, settings: DemoSettings, { client }: EmbeddedFleet) {
  const running: string[] = [];
  const build = async (request: ReturnType<typeof demoRequests>[number]) => {
    const [event] = await client.buildAndWait(request);
    if (event?.state === 'active') running.push(event.instanceUuid);
  };
  await mapConcurrently(demoRequests(seededRandom(settings.seed), settings.builds), AT_ONCE, build, interrupted);
  let count = settings.builds;
  while (!interrupted.aborted) {
    await sleep(clock, pauseMs(random), interrupted);
    if (interrupted.aborted) return;
    const isFull = running.length >= settings.builds * (0.8 + 0.4 * random.next());
    const [uuid] = isFull ? running.splice(randomInt(random, running.length), 1) : [];
    const [request] = uuid === undefined ? demoRequests(random, 1) : [];
    // Console users may interfere: an instance may be gone or on a move.
    if (uuid !== undefined) await client.terminate(uuid).catch(() => {});
    if (request !== undefined) void build({ ...request, name: `demo-${++count}` }).catch(() => {});
  }
}

function pauseMs(random: Random): number {
  return Math.round(PAUSE_MS * 2 * random.next());
}
