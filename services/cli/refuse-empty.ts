import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { usageError } from './failure';

/** The placeholder of flags for free text. */
const FREE_TEXT = '<text>';

/**
 * Refuses empty arguments and flags of a command, as an unset variable of a shell leaves them: a service would take them
 * for all things, or for the default. Settings and free text may be empty.
 *
 * @throws BerthError `invalid_argument / usage`.
 */
export function refuseEmpty(command: CommandUnknownOpts): void {
  for (const [i, argument] of command.registeredArguments.entries()) {
    const words = argument.variadic ? command.args.slice(i) : [command.args[i]];
    if (words.some(isEmpty)) throw empty(`<${argument.name()}>`);
  }
  for (const option of command.options) {
    const name = option.attributeName();
    if (option.envVar !== undefined || option.flags.includes(FREE_TEXT)) continue;
    if (command.getOptionValueSource(name) !== 'cli') continue;
    if ([command.getOptionValue(name)].flat().some(isEmpty)) throw empty(option.long ?? name);
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'string' && value.trim() === '';
}

function empty(what: string) {
  return usageError(
    `${what} is empty`,
    'is a variable of the shell unset? leave the flag away to mean all, or the default',
  );
}
