import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { addHelp } from '../help-text';

/** `berth help host list`. `runBerth` has made `host list --help` of it: only its own help is here. */
export function helpCommand(): CommandUnknownOpts {
  return addHelp(new Command('help').argument('[command...]', 'its words'), [
    ['berth help', 'every command'],
    ['berth help host drain', 'as berth host drain --help'],
  ]);
}

/** `berth version`, likewise `--version`. */
export function versionCommand(): CommandUnknownOpts {
  return addHelp(new Command('version'), [['berth version', 'as berth --version']]);
}
