import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { EXIT } from '#libs/runtime/exit-codes';
import { processOptions } from '#libs/runtime/options';
import { runService, type ServiceProcess } from '#libs/runtime/run-service';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { addSettingFlags, readSettings } from '../../settings';

/** Runs one service as this process until it is told to stop: `berth scheduler`, `berth conductor`, ... */
export function serviceCommand(context: Context, service: ServiceProcess): CommandUnknownOpts {
  const settings = { tables: { process: processOptions, ...service.tables }, ownPrefix: service.prefix };
  const command = new Command(service.name);
  addSettingFlags(command, settings).action(async () => {
    const config = readSettings(settings, command, context.env);
    await runService(service.name, config.process, (opening) => service.start(config, opening));
  });
  return addHelp(
    command,
    [
      [`berth ${service.name} --bus-url amqp://berth:secret@rabbit:5672`, 'run one; run as many as you like'],
      [`kill -TERM <pid>`, 'it takes no more work, finishes what it has, and ends; twice ends it at once'],
    ],
    [[EXIT.failed, 'it did not stop cleanly, or not in time']],
  );
}
