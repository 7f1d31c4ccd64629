import type { Command, CommandUnknownOpts, OptionValues } from '@commander-js/extra-typings';
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

/** Makes a command use the bus: adds the flags for its address; `work` gets a client of it and what was typed. */
export function useBus<Args extends unknown[], Flags extends OptionValues>(
  context: Context,
  command: Command<Args, Flags>,
  work: (client: Client, flags: Flags, ...args: Args) => Promise<void>,
): CommandUnknownOpts {
  return addSettingFlags(command, clientSettings).action(() =>
    withClient(context, command, (client) => work(client, command.opts(), ...command.processedArgs)),
  );
}

/** Runs `work` with a client on the bus of the command's settings, and closes the bus afterwards. */
export async function withClient(
  context: Context,
  command: CommandUnknownOpts,
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
    await work(createClient(bus, clock, config.timeoutMs, projectOf(config.busUrl)));
  } finally {
    await bus.close();
  }
}

/** The project whose user the command's bus URL names; undefined when it names none. */
export function ownProject({ env }: Context, command: CommandUnknownOpts): string | undefined {
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

/** Makes a command ask the placement API: adds the flags for its address and token; `work` as that of `useBus`. */
export function usePlacement<Args extends unknown[], Flags extends OptionValues>(
  { env, clock, interrupted }: Context,
  command: Command<Args, Flags>,
  work: (client: PlacementClient, flags: Flags, ...args: Args) => Promise<void>,
): CommandUnknownOpts {
  return addSettingFlags(command, placementSettings).action(() => {
    const { placement } = readSettings(placementSettings, command, env);
    return work(createPlacementClient({ ...placement, clock, interrupted }), command.opts(), ...command.processedArgs);
  });
}
