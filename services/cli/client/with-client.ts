import type { Command, CommandUnknownOpts, OptionValues } from '@commander-js/extra-typings';
import { openBus } from '#libs/bus/open';
import type { Bus } from '#libs/bus/port';
import { Client } from '#libs/client/client';
import { projectOf } from '#libs/client/connect';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import { BerthError } from '#libs/domain/errors';
import type { ConfigOf } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { inTrace, startTracing } from '#libs/runtime/tracing';
import type { Context } from '../context';
import { addSettingFlags, readSettings } from '../settings';
import { type clientOptions, clientSettings, placementSettings } from './client-options';
import { createPlacementClient, type PlacementClient } from './placement-client';
import { requireServer } from './require-server';

/**
 * Gives a command a client of Berth: adds the flags for the broker's address; `work` gets the client and the parsed
 * command line.
 */
export function useClient<Args extends unknown[], Flags extends OptionValues>(
  context: Context,
  command: Command<Args, Flags>,
  work: (client: Client, flags: Flags, ...args: Args) => Promise<void>,
): CommandUnknownOpts {
  return addSettingFlags(command, clientSettings).action(() =>
    withClient(context, command, (client) => work(client, command.opts(), ...command.processedArgs)),
  );
}

/**
 * Gives a command the bus: adds the flags for the broker's address; `work` gets the bus and the parsed command line.
 */
export function useBus<Args extends unknown[], Flags extends OptionValues>(
  context: Context,
  command: Command<Args, Flags>,
  work: (bus: Bus, flags: Flags, ...args: Args) => Promise<void>,
): CommandUnknownOpts {
  return addSettingFlags(command, clientSettings).action(() =>
    withBus(context, command, (bus) => work(bus, command.opts(), ...command.processedArgs)),
  );
}

/** Runs `work` with a client on the bus of the command's settings; Ctrl-C rejects its waits. */
export function withClient(
  context: Context,
  command: CommandUnknownOpts,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  return withBus(context, command, async (bus, { busUrl, timeoutMs }) => {
    const { clock, random, interrupted } = context;
    const client = new Client(bus, { clock, random, timeoutMs, retryForMs: 0, projectId: projectOf(busUrl) });
    const stop = () => void client.close();
    interrupted.addEventListener('abort', stop, { once: true });
    try {
      await work(client);
    } catch (thrown) {
      throw interrupted.aborted ? new BerthError('aborted', 'interrupted', 'interrupted') : thrown;
    } finally {
      interrupted.removeEventListener('abort', stop);
      await client.close();
    }
  });
}

/** Runs `work` with the bus of the command's settings, and closes it afterwards. */
export async function withBus(
  context: Context,
  command: CommandUnknownOpts,
  work: (bus: Bus, config: ConfigOf<typeof clientOptions>) => Promise<void>,
): Promise<void> {
  const { client: config } = readSettings(clientSettings, command, context.env);
  requireServer(config.busUrl, 'BERTH_BUS_URL', 'amqp://user:password@host:5672');
  const { clock, random } = context;
  const around = { clock, random, log: silentLog, metrics: createMetrics({}) };
  const tracing = await startTracing(config, { service: 'berth', instance: `cli-${process.pid}`, log: silentLog });
  const connected = sayThatItConnects(context, config);
  try {
    const bus = await openBus(
      { busUrl: config.busUrl, cell: config.cell, connectTimeoutMs: config.timeoutMs, isHasty: true },
      around,
    ).finally(connected);
    try {
      // Declared here too, so that a request is kept even before a conductor has run on this broker.
      await bus.declare(BUILD_REQUESTS);
      await inTrace({ name: commandLine(command), kind: 'client' }, () => work(bus, config));
    } finally {
      await bus.close();
    }
  } finally {
    await tracing.close();
  }
}

const SILENT_MS = 1_000;

/** Prints the broker that the command waits for, unless it answers soon. Returns the cancellation. */
function sayThatItConnects(
  { terminal, clock }: Context,
  { busUrl, timeoutMs }: ConfigOf<typeof clientOptions>,
): () => void {
  if (!terminal.isInteractive) return () => {};
  const limit = `${timeoutMs / 1_000} s at most`;
  // Opening the bus has refused a malformed URL long before this is printed.
  return clock.after(SILENT_MS, () =>
    terminal.note(`connecting to the broker at ${new URL(busUrl).host} (BERTH_BUS_URL), ${limit} ...`),
  );
}

/** `berth instance list`. */
function commandLine(command: CommandUnknownOpts): string {
  return command.parent ? `${commandLine(command.parent)} ${command.name()}` : command.name();
}

/** The project in the user name of the command's bus URL; undefined without one. */
export function ownProject({ env }: Context, command: CommandUnknownOpts): string | undefined {
  return projectOf(readSettings(clientSettings, command, env).client.busUrl);
}

/** Gives a command the placement API: adds the flags for its address and token; `work` like that of `useBus`. */
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
