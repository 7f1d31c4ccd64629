import type { BuildOptions } from '#libs/client/client';
import type { InstanceEvent } from '#libs/contracts/instance';
import { BerthError } from '#libs/domain/errors';
import { seededRandom } from '#libs/domain/random';
import { mapConcurrently } from '#libs/runtime/concurrent';
import { counted } from '#libs/runtime/counted';
import type { Context } from '../context';
import type { Audit } from '../embedded/audit';
import type { EmbeddedFleet, FleetSettings } from '../embedded/fleet';
import { startLate } from '../embedded/start-late';
import { type ShowProgress, withProgress } from '../views/progress';
import { demoRequests, demoShape } from './workload';

export interface DemoSettings extends Omit<FleetSettings, 'shape' | 'latencyMs'> {
  readonly builds: number;
  readonly seed: number;
}

export interface Built {
  readonly event: InstanceEvent;
  /** From the request to ACTIVE or ERROR. */
  readonly tookMs: number;
}

export interface DemoOutcome {
  readonly built: readonly Built[];
  readonly audit: Audit;
  readonly seconds: number;
}

/** Concurrent clients; each waits for its build. */
export const BUILDS_IN_FLIGHT = 256;
/** Slow enough to watch. */
export const BUILD_LATENCY_MS = 250;
/** Time limit of a build; reaching it is a defect. */
const BUILD_WAIT = { timeoutMs: 300_000 };

/** Builds instances on an embedded fleet and checks, at the end, that the store and the hosts agree. */
export async function runDemo(context: Context, settings: DemoSettings): Promise<DemoOutcome> {
  const { clock, interrupted } = context;
  const shape = demoShape(settings.builds, settings.hosts);
  const fleet = await startLate(context, { ...settings, shape, latencyMs: BUILD_LATENCY_MS });
  try {
    const { builds } = settings;
    context.terminal.note(`${processesOf(settings)} are up in this process; building ${counted(builds, 'instance')}`);
    const startedMs = clock.elapsed();
    const built = await buildAll(context, settings, fleet);
    const seconds = (clock.elapsed() - startedMs) / 1000;
    if (interrupted.aborted) throw new BerthError('aborted', 'interrupted', 'the demo was interrupted');
    return { built, seconds, audit: await fleet.audit() };
  } finally {
    await fleet.close();
  }
}

/** `2 schedulers, 2 conductors and 20 hosts` */
export function processesOf({ schedulers, conductors, hosts }: DemoSettings): string {
  return `${counted(schedulers, 'scheduler')}, ${counted(conductors, 'conductor')} and ${counted(hosts, 'host')}`;
}

async function buildAll(context: Context, settings: DemoSettings, fleet: EmbeddedFleet): Promise<Built[]> {
  const { terminal, clock, interrupted } = context;
  const built: Built[] = [];
  const requests = demoRequests(seededRandom(settings.seed), settings.builds);
  const build = async (request: BuildOptions, show: ShowProgress) => {
    const startedMs = clock.elapsed();
    const tookMs = () => clock.elapsed() - startedMs;
    for (const event of await fleet.client.buildAndWait(request, BUILD_WAIT)) built.push({ event, tookMs: tookMs() });
    show(built.length, settings.builds, () => tally(built));
  };
  await withProgress(terminal, 'building', (show) =>
    mapConcurrently(requests, BUILDS_IN_FLIGHT, (request) => build(request, show), interrupted),
  );
  return built;
}

function tally(built: readonly Built[]): string {
  const retried = built.filter(({ event }) => event.attempts.length > 1).length;
  const failed = built.filter(({ event }) => event.state === 'error').length;
  return `${retried} retried, ${failed} failed`;
}
