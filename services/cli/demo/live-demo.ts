import { setImmediate as endOfTurn } from 'node:timers/promises';
import { sleep } from '#libs/domain/clock';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { type Random, randomInt, seededRandom } from '#libs/domain/random';
import type { AggregateCommand } from '#libs/placement/port/placement-store';
import { mapConcurrently } from '#libs/runtime/concurrent';
import { counted } from '#libs/runtime/counted';
import type { Context } from '../context';
import type { EmbeddedFleet } from '../embedded/fleet';
import { startLate } from '../embedded/start-late';
import { untilInterrupted } from '../interruptible';
import type { DemoSettings } from './run-demo';
import { type ShowStep, withStepLine } from './step-line';
import { demoRequests, demoShape } from './workload';

const BUILD_LATENCY_MS = 1_500;
const ZONES = ['east', 'west'];
/** At least. */
const HOSTS_PER_RACK = 10;
const MAX_RACKS_PER_ZONE = 100;
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
  let fleet: EmbeddedFleet | undefined;
  try {
    const [page, api] = await withStepLine(terminal, async (onStep) => {
      fleet = await startLate(withFreePort(context), { ...settings, shape, latencyMs: BUILD_LATENCY_MS, onStep });
      await untilInterrupted(context, furnish(context, fleet, onStep));
      onStep('starting the console');
      return untilInterrupted(context, Promise.all([fleet.openConsole(), fleet.openApi()]));
    });
    terminal.print(`console: ${page}`);
    terminal.print(`API to build: ${api}/berth/instances`);
    terminal.note(`instances are built and terminated on ${counted(settings.hosts, 'host')} until Ctrl-C`);
    if (fleet) await live(context, settings, fleet);
  } finally {
    await fleet?.close();
  }
}

/** The API takes any free port: a placement API may run on this machine. */
function withFreePort(context: Context): Context {
  return { ...context, env: { BERTH_PLACEMENT_PORT: '0', ...context.env } };
}

/** Zones, racks, flavors and a quota. */
async function furnish(
  { clock, random, interrupted }: Context,
  { client, placement }: EmbeddedFleet,
  onStep: ShowStep,
) {
  for (const { name, resources } of FLAVORS)
    await client.createFlavor({ name, resources, description: '', extraSpecs: {} });
  await client.setQuota('demo', { limits: { VCPU: 4_000, instances: 2_000 } });
  const hosts = (await client.hosts()).map(({ host }) => host);
  const zoneSize = Math.ceil(hosts.length / ZONES.length);
  const rackSize = Math.max(HOSTS_PER_RACK, Math.ceil(zoneSize / MAX_RACKS_PER_ZONE));
  // Straight to the store, one after the other: changes of aggregates exclude each other, and as calls they would queue
  // behind the reports of all hosts.
  const commit = (command: AggregateCommand) => placement.commit({ ...command, atMs: clock.now() });
  const create = async (name: string, metadata: Record<string, string>) => {
    const uuid = random.uuid();
    await commit({ kind: 'create_aggregate', uuid, name, metadata });
    return uuid;
  };
  for (const [z, zone] of ZONES.entries()) {
    const zoneUuid = await create(zone, { [ZONE_KEY]: zone });
    const its = hosts.slice(z * zoneSize, (z + 1) * zoneSize);
    for (let r = 0; r * rackSize < its.length; r++) {
      const rack = `${zone}-${r + 1}`;
      const rackUuid = await create(`rack-${rack}`, { rack });
      for (const host of its.slice(r * rackSize, (r + 1) * rackSize)) {
        await commit({ kind: 'add_aggregate_host', uuid: zoneUuid, host });
        await commit({ kind: 'add_aggregate_host', uuid: rackUuid, host });
      }
      onStep('grouping hosts into zones and racks', `rack ${rack}`);
      await endOfTurn();
      if (interrupted.aborted) return;
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
