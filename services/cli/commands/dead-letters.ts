import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { type DeadLetter, visitDeadLetters } from '#libs/client/dead-letters';
import { useBus } from '../client/with-client';
import type { Context } from '../context';
import { usageError } from '../failure';
import { addHelp } from '../help-text';
import { type Listing, listingCommand, showListing } from '../views/listing';
import { wholeFrom } from './number-flags';

/** `berth dead-letters list | requeue | discard` */
export function deadLettersCommand(context: Context): CommandUnknownOpts {
  return new Command('dead-letters')
    .addCommand(listCommand(context))
    .addCommand(requeueCommand(context))
    .addCommand(discardCommand(context));
}

function listCommand(context: Context): CommandUnknownOpts {
  const listing: Listing<DeadLetter> = {
    nameOf: ({ id }) => id,
    whenNone: 'no dead letters',
    sorts: { queue: ({ queue }) => queue, reason: ({ reason }) => reason },
    columns: [
      { head: 'MESSAGE', cell: ({ id: uuid }) => ({ uuid }) },
      { head: 'TYPE', cell: ({ type }) => type },
      { head: 'QUEUE', cell: ({ queue }) => queue },
      { head: 'REASON', cell: ({ reason }) => reason },
      { head: 'BYTES', cell: ({ bytes }) => bytes, isWide: true },
      { head: 'WHY', cell: ({ message }) => message },
    ],
  };
  const command = listingCommand('list', listing)
    .description('List dead letters with their reasons, oldest first. They stay in their queue.')
    .option('--limit <n>', 'list at most this many', wholeFrom(1), 100);
  useBus(context, command, async (bus, flags) => {
    await showListing(context, flags, listing, async () => {
      const letters: DeadLetter[] = [];
      await visitDeadLetters(bus, context.clock, flags.limit, (letter) => {
        letters.push(letter);
        return 'leave';
      });
      return letters;
    });
  });
  return addHelp(command, [['berth dead-letters list', 'what could not be handled, and why']]);
}

function requeueCommand(context: Context): CommandUnknownOpts {
  const command = new Command('requeue')
    .description('Send dead letters back to their queues, once the cause is repaired. Expired ones stay.')
    .option('--id <message>', 'only this message')
    .option('--reason <reason>', 'only those with this reason')
    .option('--limit <n>', 'look at no more than this many', wholeFrom(1), 100)
    .option('--json', 'print one JSON value', false);
  useBus(context, command, async (bus, { id, reason, limit, json }) => {
    const meant: string[] = [];
    const refused = await visitDeadLetters(bus, context.clock, limit, (letter) => {
      const isMeant = (id ?? letter.id) === letter.id && (reason ?? letter.reason) === letter.reason;
      // Nobody waits for an expired message any more.
      if (!isMeant || letter.queue === '' || letter.reason === 'expired') return 'leave';
      meant.push(letter.id);
      return 'requeue';
    });
    const requeued = meant.filter((one) => refused.every((other) => other.id !== one));
    if (json) context.terminal.json({ requeued });
    else context.terminal.print(`${requeued.length} sent again`);
    if (refused[0] !== undefined) throw refused[0].error;
  });
  return addHelp(command, [
    ['berth dead-letters requeue', 'all of them'],
    ['berth dead-letters requeue --reason delivery_limit', 'those that were tried too often'],
  ]);
}

function discardCommand(context: Context): CommandUnknownOpts {
  const command = new Command('discard')
    .description('Delete dead letters permanently: choose them by --id or --reason, or take --all.')
    .option('--id <message>', 'only this message')
    .option('--reason <reason>', 'only those with this reason')
    .option('--all', 'all of them', false)
    .option('--limit <n>', 'look at no more than this many', wholeFrom(1), 100)
    .option('--json', 'print one JSON value', false);
  useBus(context, command, async (bus, { id, reason, all, limit, json }) => {
    if (!all && id === undefined && reason === undefined) {
      throw usageError('which dead letters?', 'say --id, --reason or --all; berth dead-letters list shows them');
    }
    const discarded: string[] = [];
    await visitDeadLetters(bus, context.clock, limit, (letter) => {
      if ((id ?? letter.id) !== letter.id || (reason ?? letter.reason) !== letter.reason) return 'leave';
      discarded.push(letter.id);
      return 'discard';
    });
    if (json) context.terminal.json({ discarded });
    else context.terminal.print(`${discarded.length} discarded`);
  });
  return addHelp(command, [
    ['berth dead-letters discard --reason unknown_sender', 'those that nobody vouches for'],
    ['berth dead-letters discard --id 6f1f36c4-52f9-4a3c-9f6f-0d2f0a4b7a11', 'one of them'],
    ['berth dead-letters discard --all', 'the oldest hundred, whatever they are'],
  ]);
}
