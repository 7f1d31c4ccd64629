import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { EXIT } from '#libs/runtime/exit-codes';
import { processOptions } from '#libs/runtime/options';
import { runService, type ServiceProcess } from '#libs/runtime/run-service';
import { computeAgent } from '../../../compute-agent/main';
import { conductor } from '../../../conductor/main';
import { webConsole } from '../../../console/main';
import { placementApi } from '../../../placement-api/main';
import { scheduler } from '../../../scheduler/main';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { addSettingFlags, readSettings } from '../../settings';

const SERVICES: readonly ServiceProcess[] = [scheduler, conductor, computeAgent, placementApi, webConsole];

/** The commands that run a service: `berth scheduler`, `berth conductor`, ... */
export function serviceCommands(context: Context): CommandUnknownOpts[] {
  return SERVICES.map((service) => serviceCommand(context, service));
}

/** Runs one service as this process until it is told to stop. */
function serviceCommand(context: Context, service: ServiceProcess): CommandUnknownOpts {
  const settings = { tables: { process: processOptions, ...service.tables }, ownPrefix: service.prefix };
  const command = new Command(service.name).description(service.purpose);
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
