import type { Command } from 'commander';
import { openBus } from '#libs/bus/open';
import { userOfUrl } from '#libs/bus/user-of-url';
import { identityOf } from '#libs/contracts/identity';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import type { Context } from '../context';
import { usageError } from '../failure';
import { addSettingFlags, readSettings } from '../settings';
import { type Client, createClient } from './client';
import { clientSettings, placementSettings } from './client-options';
import { createPlacementClient, type PlacementClient } from './placement-client';

/** Adds the flags for the address of the bus. */
export function addClientFlags(command: Command): Command {
  return addSettingFlags(command, clientSettings);
}

/** Runs `work` with a client on the bus of the command's settings, and closes the bus afterwards. */
export async function withClient(
  context: Context,
  command: Command,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const { client: config } = readSettings(clientSettings, command, context.env);
  requireServer(config.busUrl, 'BERTH_BUS_URL', 'amqp://user:password@host:5672');
  const { clock, random } = context;
  const around = { clock, random, log: silentLog, metrics: createMetrics({}) };
  const bus = await openBus({ busUrl: config.busUrl, connectTimeoutMs: config.timeoutMs }, around);
  try {
    // Declared here, too, so that a request is kept although no conductor has run on this broker yet.
    await bus.declare(BUILD_REQUESTS);
    await work(createClient(bus, context.clock, config.timeoutMs, projectOf(config.busUrl)));
  } finally {
    await bus.close();
  }
}

/** The project whose user the command's bus URL names; undefined when it names none. */
export function ownProject({ env }: Context, command: Command): string | undefined {
  return projectOf(readSettings(clientSettings, command, env).client.busUrl);
}

function projectOf(busUrl: string): string | undefined {
  const identity = identityOf(userOfUrl(busUrl));
  return identity.kind === 'project' ? identity.projectId : undefined;
}

/** @throws BerthError `invalid_argument / usage` for `memory:`, which exists within one process only. */
export function requireServer(url: string, env: string, example: string): void {
  if (url !== 'memory:') return;
  const hint = `set ${env}=${example}; 'berth demo' needs no server`;
  throw usageError(`${env} is memory:, which lives within one process and cannot be shared with others`, hint);
}

/** Adds the flags for address and token of the placement API. */
export function addPlacementFlags(command: Command): Command {
  return addSettingFlags(command, placementSettings);
}

/** A client of the placement API of the command's settings. */
export function placementFor({ env, clock, interrupted }: Context, command: Command): PlacementClient {
  const { placement } = readSettings(placementSettings, command, env);
  return createPlacementClient({ ...placement, clock, interrupted });
}
