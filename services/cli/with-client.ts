import type { Command } from 'commander';
import { openBus } from '#libs/bus/open';
import { BUILD_REQUESTS } from '#libs/contracts/topology';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { type Client, createClient } from './client';
import { clientSettings } from './client-options';
import type { Context } from './context';
import { usageError } from './failure';
import { addSettingFlags, readSettings } from './settings';

export function addClientFlags(command: Command): Command {
  return addSettingFlags(command, clientSettings);
}

/** Runs a command's work with a client of the bus that its settings name, and closes it whatever happens. */
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
    // So that a request is kept although no conductor has ever run on this broker.
    await bus.declare(BUILD_REQUESTS);
    await work(createClient(bus, context.clock, config.timeoutMs));
  } finally {
    await bus.close();
  }
}

/** `memory:` lives in one process, so it can't be shared with services: refused, with what to set. */
export function requireServer(url: string, env: string, example: string): void {
  if (url !== 'memory:') return;
  const hint = `set ${env}=${example}; 'berth demo' needs no server`;
  throw usageError(`${env} is memory:, which lives within one process and cannot be shared with others`, hint);
}
