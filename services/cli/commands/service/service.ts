import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { EXIT } from '#libs/runtime/exit-codes';
import { processOptions } from '#libs/runtime/options';
import { runService, type ServiceProcess } from '#libs/runtime/run-service';
import type { Environment } from '#libs/runtime/system';
import { requireServer } from '../../client/require-server';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { addSettingFlags, readSettings, withFlags } from '../../settings';

/** Runs one service as this process until it is stopped: `berth scheduler`, `berth conductor`, ... */
export function serviceCommand(context: Context, service: ServiceProcess): CommandUnknownOpts {
  const settings = { tables: { process: processOptions, ...service.tables }, ownPrefix: service.prefix };
  const command = new Command(service.name);
  addSettingFlags(command, settings).action(async () => {
    const config = readSettings(settings, command, context.env);
    requireBus(withFlags(settings, command, context.env), service);
    await runService(service.name, config.process, (opening) => service.start(config, opening));
  });
  return addHelp(
    command,
    [
      [`berth ${service.name} ${exampleAddress(service)}`, 'run one; run as many as you like'],
      [`kill -TERM <pid>`, 'it takes no more work, finishes what it has, and ends; twice ends it at once'],
    ],
    [[EXIT.failed, 'it did not stop cleanly, or not in time']],
  );
}

/** On a private bus a service has no peers. */
function requireBus(env: Environment, service: ServiceProcess): void {
  if (needsBus(service))
    requireServer(env['BERTH_BUS_URL'] ?? 'memory:', 'BERTH_BUS_URL', 'amqp://user:password@host:5672');
}

function exampleAddress(service: ServiceProcess): string {
  return needsBus(service) ? '--bus-url amqp://berth:secret@rabbit:5672' : '--store-url redis://redis:6379';
}

function needsBus({ tables, isBusOptional }: ServiceProcess): boolean {
  return !isBusOptional && Object.values(tables).some((table) => 'busUrl' in table);
}
