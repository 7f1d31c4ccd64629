import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { ListZonesResponse } from '#libs/contracts/aggregates';
import { answerCommand, showAnswer } from '../../answers/answer';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { type Listing, listingCommand, showListing } from '../../views/listing';
import { facts } from '../../views/table';
import type { Terminal } from '../../views/terminal';

/** `berth zone list | show` */
export function zoneCommand(context: Context): CommandUnknownOpts {
  return new Command('zone').addCommand(listCommand(context)).addCommand(showCommand(context));
}

function listCommand(context: Context): CommandUnknownOpts {
  const listing: Listing<ListZonesResponse['zones'][number]> = {
    nameOf: ({ name }) => name,
    whenNone: 'no zones',
    sorts: { hosts: ({ hostCount }) => hostCount },
    columns: [
      { head: 'ZONE', cell: ({ name }) => name },
      { head: 'HOSTS', cell: ({ hostCount }) => hostCount },
      { head: 'AVAILABLE', cell: ({ availableCount }) => availableCount },
    ],
  };
  const command = listingCommand('list', listing).description('List zones.');
  useClient(context, command, async (client, flags) => {
    await showListing(context, flags, listing, async () => (await client.aggregates.zones()).zones);
  });
  return addHelp(command, [['berth zone list', 'where one can build; nova is the zone of hosts without one']]);
}

function showCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('show')
    .description('Show one zone; operators see its hosts.')
    .argument('<name>', 'zone');
  useClient(context, command, (client, flags, name) =>
    showAnswer(context, flags, async () => {
      const { zones, hosts } = await client.aggregates.zones(name);
      // The scheduler refuses an unknown zone, so there is always one.
      const [zone] = zones as [(typeof zones)[number]];
      const pairs: [string, string][] = [
        ['zone', zone.name],
        ['host count', String(zone.hostCount)],
        ['available', String(zone.availableCount)],
        ['hosts', hosts.join(' ') || '-'],
      ];
      const draw = (terminal: Terminal) => terminal.print(facts(terminal, pairs));
      return { plain: { ...zone, hosts }, names: [zone.name], draw };
    }),
  );
  return addHelp(command, [['berth zone show east', 'its hosts']]);
}
