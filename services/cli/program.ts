import { readFileSync } from 'node:fs';
import { Command, type CommandUnknownOpts, Help, type Option } from '@commander-js/extra-typings';
import { auditCommand } from './commands/audit';
import { agentCommand, projectCommand } from './commands/broker-user';
import { buildCommand } from './commands/build/build';
import { explainCommand } from './commands/build/explain';
import { deadLettersCommand } from './commands/dead-letters';
import { demoCommand } from './commands/demo';
import { flavorCommand } from './commands/flavor';
import { aggregateCommand } from './commands/grouping/aggregate';
import { groupCommand } from './commands/grouping/group';
import { zoneCommand } from './commands/grouping/zone';
import { hostCommand } from './commands/host';
import { eventsCommand } from './commands/instance/events';
import { instanceCommand } from './commands/instance/instance';
import { terminateCommand } from './commands/instance/terminate';
import { nodeCommand } from './commands/node/node';
import { allocationCommand } from './commands/provider/allocation';
import { candidatesCommand } from './commands/provider/candidates';
import { providerCommand } from './commands/provider/provider';
import { usageCommand } from './commands/provider/usage';
import { quotaCommand } from './commands/quota';
import { rebalanceCommand } from './commands/rebalance';
import { configCommand } from './commands/service/config';
import { serviceCommands } from './commands/service/service';
import { upCommand } from './commands/service/up';
import { traceCommand } from './commands/trace';
import { upgradeCommand } from './commands/upgrade/upgrade';
import type { Context } from './context';
import { reportFailure } from './failure';

/**
 * Runs `berth` with these arguments (without the name of the program) and returns its exit code. Never throws:
 * failures are printed on the terminal. Commands that run a service end the process themselves.
 */
export async function runBerth(args: readonly string[], outside: Omit<Context, 'exit'>): Promise<number> {
  let exitCode = 0;
  const exit = (code: number) => {
    exitCode = code;
  };
  try {
    await createProgram({ ...outside, exit }).parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (thrown) {
    return reportFailure(thrown, outside.terminal);
  }
}

function createProgram(context: Context): CommandUnknownOpts {
  const program = new Command('berth')
    .description('Berth places workloads on hosts: a placement and scheduling service.')
    .version(version(), '-V, --version', 'print the version')
    .addHelpText('after', "\nStart with 'berth demo'. Each command's --help has examples and exit codes.")
    .commandsGroup('See it work:')
    .addCommand(demoCommand(context))
    .addCommand(traceCommand(context))
    .addCommand(upCommand(context))
    .commandsGroup('Use it:')
    .addCommand(buildCommand(context))
    .addCommand(terminateCommand(context, 'terminate'))
    .addCommand(instanceCommand(context))
    .addCommand(explainCommand(context))
    .addCommand(flavorCommand(context))
    .addCommand(groupCommand(context))
    .addCommand(zoneCommand(context))
    .addCommand(eventsCommand(context))
    .commandsGroup('See its resources (asks the placement API):')
    .addCommand(providerCommand(context))
    .addCommand(candidatesCommand(context))
    .addCommand(allocationCommand(context))
    .addCommand(usageCommand(context))
    .commandsGroup('Operate it:')
    .addCommand(hostCommand(context))
    .addCommand(nodeCommand(context))
    .addCommand(rebalanceCommand(context))
    .addCommand(aggregateCommand(context))
    .addCommand(quotaCommand(context))
    .addCommand(auditCommand(context))
    .addCommand(agentCommand(context))
    .addCommand(projectCommand(context))
    .addCommand(deadLettersCommand(context))
    .addCommand(upgradeCommand(context))
    .addCommand(configCommand(context))
    .commandsGroup('Run its services:');
  for (const command of serviceCommands(context)) program.addCommand(command);
  return configure(program, context);
}

/** As commander writes it, without `(default: [])` and `(default: false)`. */
function optionDescription(option: Option): string {
  const isNothing = option.defaultValue === false || typeof option.defaultValue === 'object';
  return isNothing ? option.description : new Help().optionDescription(option);
}

/** Makes a command and all its subcommands throw errors and print on the terminal of the context. */
function configure(command: CommandUnknownOpts, context: Context): CommandUnknownOpts {
  command
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.terminal.print(text.trimEnd()),
      // Help shown because a subcommand is missing; errors themselves are reported by `reportFailure`.
      writeErr: (text) => context.terminal.note(text.trimEnd()),
      outputError: () => {},
    })
    .helpCommand(false)
    .configureHelp({ styleTitle: (title) => context.terminal.colours.bold(title), optionDescription });
  for (const subcommand of command.commands) configure(subcommand, context);
  return command;
}

/** That in package.json. */
function version(): string {
  const found = JSON.parse(readFileSync(require.resolve('#package.json'), 'utf8')) as { readonly version: string };
  return found.version;
}
