import { readFileSync, writeFileSync } from 'node:fs';
import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Context } from '../context';
import { readContexts } from '../contexts/contexts-file';
import { usageError } from '../failure';
import { addHelp } from '../help-text';
import { type Listing, listingCommand, showListing } from '../views/listing';

const EXAMPLE = `
A file with two:

  current-context: lab
  contexts:
    lab:
      bus-url: amqp://operator:secret@lab:5672/berth
      placement-url: http://lab:8778
    prod:
      bus-url: amqps://project.web:secret@rabbit.example:5671/berth

Each setting is called as its flag. Flags go before the environment, that before the file. Keep it to yourself: chmod 600.`;

/** `berth context list | use` */
export function contextCommand(context: Context): CommandUnknownOpts {
  return new Command('context')
    .addCommand(listCommand(context))
    .addCommand(useCommand(context))
    .addHelpText('after', EXAMPLE);
}

function listCommand(context: Context): CommandUnknownOpts {
  const { outside } = context;
  const listing: Listing<{ readonly name: string; readonly current: boolean; readonly settings: readonly string[] }> = {
    nameOf: ({ name }) => name,
    plainOf: ({ name, current }) => ({ name, current }),
    whenNone: 'no contexts',
    columns: [
      { head: '', cell: ({ current }) => (current ? '*' : '') },
      { head: 'CONTEXT', cell: ({ name }) => name },
      { head: 'SETTINGS', cell: ({ settings }) => settings.join(' ') },
    ],
  };
  const command = listingCommand('list', listing)
    .description('List the contexts of the file.')
    .action(async (flags) => {
      await showListing(context, flags, listing, async () => {
        const file = await readContexts(outside);
        const chosen = outside['BERTH_CONTEXT'] || file?.current;
        return Object.entries(file?.contexts ?? {}).map(([name, settings]) => {
          return { name, current: name === chosen, settings: Object.keys(settings) };
        });
      });
    });
  return addHelp(command, [['berth context list', 'which there are; * is the one in use']]);
}

function useCommand({ terminal, outside }: Context): CommandUnknownOpts {
  const command = new Command('use')
    .description("Make a context the file's current one.")
    .argument('<context>', 'its name')
    .action(async (name) => {
      const file = await readContexts(outside);
      if (file?.contexts[name] === undefined) {
        throw usageError(
          `there is no context '${name}'`,
          "'berth context list' shows them, 'berth context --help' a file",
        );
      }
      const { parseDocument } = await import('yaml');
      // The file stays as it is, with its comments, except for this key.
      const document = parseDocument(readFileSync(file.path, 'utf8'));
      document.set('current-context', name);
      writeFileSync(file.path, document.toString());
      terminal.print(`commands use ${name} now`);
    });
  return addHelp(command, [
    ['berth context use lab', 'from now on'],
    ['berth --context prod host list', 'this once; or BERTH_CONTEXT=prod'],
  ]);
}
