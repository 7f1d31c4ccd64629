import type { Command } from '@commander-js/extra-typings';
import type { ListZonesResponse } from '#libs/contracts/aggregates';
import { lists, noun, shows } from '../../answers/declared';
import type { Listing } from '../../views/listing';
import { facts } from '../../views/table';

type Zone = ListZonesResponse['zones'][number];

/** `berth zone list | show` */
export const zoneCommand = noun('zone', [
  lists({
    does: 'List zones.',
    listing: (): Listing<Zone> => ({
      nameOf: ({ name }) => name,
      whenNone: 'no zones',
      sorts: { hosts: ({ hostCount }) => hostCount },
      columns: [
        { head: 'ZONE', cell: ({ name }) => name },
        { head: 'HOSTS', cell: ({ hostCount }) => hostCount },
        { head: 'AVAILABLE', cell: ({ availableCount }) => availableCount },
      ],
    }),
    call: async ({ aggregates }) => (await aggregates.zones()).zones,
    examples: [['berth zone list', 'where one can build; nova is the zone of hosts without one']],
  }),
  shows({
    name: 'show',
    does: 'Show one zone; operators see its hosts.',
    takes: (command: Command) => command.argument('<name>', 'zone'),
    async call({ aggregates }, _flags, name) {
      const { zones, hosts } = await aggregates.zones(name);
      // The scheduler refuses an unknown zone, so there is always one.
      const [zone] = zones as [Zone];
      const pairs: [string, string][] = [
        ['zone', zone.name],
        ['host count', String(zone.hostCount)],
        ['available', String(zone.availableCount)],
        ['hosts', hosts.join(' ') || '-'],
      ];
      return {
        plain: { ...zone, hosts },
        names: [zone.name],
        draw: ({ terminal }) => terminal.print(facts(terminal, pairs)),
      };
    },
    examples: [['berth zone show east', 'its hosts']],
  }),
]);
