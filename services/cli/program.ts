import { Command, Help, type Option } from 'commander';
import { allocationCommand } from './commands/allocation';
import { buildCommand } from './commands/build';
import { candidatesCommand } from './commands/candidates';
import { configCommand } from './commands/config';
import { deadLettersCommand } from './commands/dead-letters';
import { demoCommand } from './commands/demo';
import { eventsCommand } from './commands/events';
import { explainCommand } from './commands/explain';
import { hostCommand } from './commands/host';
import { instanceCommand } from './commands/instance';
import { providerCommand } from './commands/provider';
import { serviceCommand } from './commands/service';
import { terminateCommand } from './commands/terminate';
import { traceCommand } from './commands/trace';
import { upCommand } from './commands/up';
import { usageCommand } from './commands/usage';
import type { Context } from './context';
import { reportFailure } from './failure';
import { serviceProcesses } from './service-processes';
import { version } from './version';

/**
 * Runs `berth` with these arguments (without the name of the program) and answers with its exit code. Nothing is thrown:
 * failures are reported on the terminal. Commands that run a service end the process themselves.
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

function createProgram(context: Context): Command {
  const program = new Command('berth')
    .description('Berth places workloads on hosts: a placement and scheduling service.')
    .version(version, '-V, --version', 'print the version')
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
    .addCommand(eventsCommand(context))
    .commandsGroup('See its resources (asks the placement API):')
    .addCommand(providerCommand(context))
    .addCommand(candidatesCommand(context))
    .addCommand(allocationCommand(context))
    .addCommand(usageCommand(context))
    .commandsGroup('Operate it:')
    .addCommand(hostCommand(context))
    .addCommand(deadLettersCommand(context))
    .addCommand(configCommand(context))
    .commandsGroup('Run its services:');
  for (const service of serviceProcesses) program.addCommand(serviceCommand(context, service));
  return settle(program, context);
}

/** As commander writes it, without `(default: [])` and the like of flags that are simply not given. */
function optionDescription(option: Option): string {
  const isNothing = option.defaultValue === false || typeof option.defaultValue === 'object';
  return isNothing ? option.description : new Help().optionDescription(option);
}

/** Every command, down to the last subcommand: errors are thrown, and text goes where the terminal is. */
function settle(command: Command, context: Context): Command {
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
  for (const subcommand of command.commands) settle(subcommand, context);
  return command;
}
