import { seededRandom } from '#libs/domain/random';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { programOf } from '#libs/testing/servers/child';
import { type EmbeddedFleet, startEmbedded } from '../../services/cli/embedded/fleet';

/** A fleet with a console: schedulers, conductors, an agent with hosts, in this process. */
export interface LivingFleet extends EmbeddedFleet {
  readonly url: string;
}

/** `env` are settings of the console. */
export async function startLivingFleet(hosts = 8, env: Readonly<Record<string, string>> = {}): Promise<LivingFleet> {
  const context = {
    env: { BERTH_CONSOLE_PORT: '0', ...env },
    clock: systemClock(),
    random: systemRandom,
    interrupted: new AbortController().signal,
  };
  const shape = { VCPU: 16, MEMORY_MB: 32_768, DISK_GB: 200 };
  const fleet = await startEmbedded(context, {
    schedulers: 1,
    conductors: 1,
    hosts,
    shape,
    failureRate: 0,
    latencyMs: 50,
  });
  const { client } = fleet;
  await client.createFlavor({
    name: 'm1.small',
    resources: { VCPU: 1, MEMORY_MB: 2_048, DISK_GB: 10 },
    description: '',
    extraSpecs: {},
  });
  await client.createFlavor({
    name: 'm1.large',
    resources: { VCPU: 4, MEMORY_MB: 8_192, DISK_GB: 40 },
    description: '',
    extraSpecs: {},
  });
  return { ...fleet, url: await fleet.openConsole(programOf('services/cli/main.ts')) };
}

/** Builds instances of a flavor; their uuids, all ACTIVE. */
export async function build(
  { client }: EmbeddedFleet,
  count: number,
  flavor = 'm1.small',
  name = 'web',
): Promise<string[]> {
  const random = seededRandom(count);
  const spec = { projectId: 'shop', userId: 'ann', flavor: { name: flavor, version: 0 } };
  const events = await client.buildAndWait({
    spec,
    count,
    name,
    instanceUuids: Array.from({ length: count }, () => random.uuid()),
  });
  return events.map(({ instanceUuid }) => instanceUuid);
}
