import { Command, type CommandUnknownOpts, Help, type Option } from '@commander-js/extra-typings';
import { berthVersion } from '#libs/runtime/manifest';
import { CATALOGUE } from './catalogue';
import type { Context } from './context';
import { withContext } from './contexts/contexts-file';
import { takeGlobalFlags } from './contexts/global-flags';
import { reportFailure } from './failure';
import { refuseEmpty } from './refuse-empty';

/**
 * Runs `berth` with these arguments (without the name of the program) and returns its exit code. Never throws:
 * failures are printed on the terminal. Commands that run a service end the process themselves.
 */
export async function runBerth(words: readonly string[], outside: Omit<Context, 'exit' | 'outside'>): Promise<number> {
  let exitCode = 0;
  const exit = (code: number) => {
    exitCode = code;
  };
  try {
    const { args: typed, env } = takeGlobalFlags(words, outside.env);
    const args = asFlags(typed);
    // Listing or choosing a context must work without an existing one.
    const settings = args[0] === 'context' ? env : await withContext(env);
    const program = await createProgram({ ...outside, env: settings, outside: env, exit }, args);
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (thrown) {
    return reportFailure(thrown, outside.terminal);
  }
}

/** `help host list` as `host list --help`, and `version` as `--version`: both ways are usual. */
function asFlags(args: readonly string[]): readonly string[] {
  const [first, ...others] = args;
  if (others.includes('--help') || others.includes('-h')) return args;
  if (first === 'help') return [...others, '--help'];
  return first === 'version' ? ['--version'] : args;
}

/** All commands by name, with the code of the named one. */
async function createProgram(context: Context, args: readonly string[]): Promise<CommandUnknownOpts> {
  const program = new Command('berth')
    .description('Berth places workloads on hosts: a placement and scheduling service.')
    .version(berthVersion(), '-V, --version', 'print the version')
    .option('--context <name>', "use the settings of this context: 'berth context --help'")
    .option('--no-pager', 'print long answers directly instead of through $PAGER')
    .addHelpText('after', "\nStart with 'berth demo'. Each command's --help has examples and exit codes.");
  const named = args.find((arg) => !arg.startsWith('-'));
  for (const { heading, commands } of CATALOGUE) {
    program.commandsGroup(heading);
    for (const entry of commands) {
      const command = entry.name === named ? await entry.load(context) : new Command(entry.name);
      program.addCommand(command.description(entry.description), { hidden: entry.isHidden ?? false });
      // Scripts of completion hand on the word that is begun, which may be empty.
      if (!entry.isHidden) command.hook('preAction', (_, acting) => refuseEmpty(acting));
    }
  }
  configure(program, context);
  return program.configureHelp({ ...program.configureHelp(), subcommandTerm: (command) => command.name() });
}

/** Commander's text, without `(default: [])` and `(default: false)`. */
function optionDescription(option: Option): string {
  const isNothing = option.defaultValue === false || typeof option.defaultValue === 'object';
  return isNothing ? option.description : new Help().optionDescription(option);
}

/** Makes a command and all its subcommands throw errors and print on the context's terminal. */
function configure(command: CommandUnknownOpts, context: Context): CommandUnknownOpts {
  command
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.terminal.print(text.trimEnd()),
      // Help shown because a subcommand is missing; `reportFailure` reports errors themselves.
      writeErr: (text) => context.terminal.note(text.trimEnd()),
      outputError: () => {},
    })
    .helpCommand(false)
    .configureHelp({ styleTitle: (title) => context.terminal.colours.bold(title), optionDescription });
  for (const subcommand of command.commands) configure(subcommand, context);
  return command;
}
