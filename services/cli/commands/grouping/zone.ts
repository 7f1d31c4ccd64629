import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { ListZonesResponse } from '#libs/contracts/messages';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { type Listing, listingCommand, showListing } from '../../views/listing';
import { facts } from '../../views/table';

/** `berth zone list | show` */
export function zoneCommand(context: Context): CommandUnknownOpts {
  return new Command('zone').addCommand(listCommand(context)).addCommand(showCommand(context));
}

function listCommand(context: Context): CommandUnknownOpts {
  const command = listingCommand('list').description('List zones.');
  const listing: Listing<ListZonesResponse['zones'][number]> = {
    nameOf: ({ name }) => name,
    columns: [
      { head: 'ZONE', cell: ({ name }) => name },
      { head: 'HOSTS', cell: ({ hostCount }) => hostCount },
      { head: 'AVAILABLE', cell: ({ availableCount }) => availableCount },
    ],
  };
  useClient(context, command, async (client, flags) => {
    await showListing(context, flags, listing, async () => (await client.aggregates.zones()).zones);
  });
  return addHelp(command, [['berth zone list', 'where one can build; nova is the zone of hosts without one']]);
}

function showCommand(context: Context): CommandUnknownOpts {
  const { terminal } = context;
  const command = new Command('show')
    .description('Show one zone; its hosts, to operators.')
    .argument('<name>', 'zone')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { json }, name) => {
    const { zones, hosts } = await client.aggregates.zones(name);
    const [zone] = zones;
    // An unknown zone is an error of the scheduler's, so there is always one.
    if (zone === undefined) return;
    if (json) return terminal.json({ ...zone, hosts });
    terminal.print(
      facts(terminal, [
        ['zone', zone.name],
        ['host count', String(zone.hostCount)],
        ['available', String(zone.availableCount)],
        ['hosts', hosts.join(' ') || '-'],
      ]),
    );
  });
  return addHelp(command, [['berth zone show east', 'its hosts']]);
}
