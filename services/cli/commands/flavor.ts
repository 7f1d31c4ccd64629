import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Flavor } from '#libs/domain/flavor';
import { answerCommand, showAnswer } from '../answers/answer';
import { useClient } from '../client/with-client';
import type { Context } from '../context';
import { usageError } from '../failure';
import { addHelp } from '../help-text';
import { ageOf } from '../views/format';
import { type Listing, listingCommand, showListing } from '../views/listing';
import { pairs } from '../views/pairs';
import { facts } from '../views/table';
import { amountOfClass, flavorName, keyAndValue, resourcesOf } from './build/request-flags';
import { amount } from './number-flags';
import { repeatable } from './repeatable-flag';

/** `berth flavor create | list | show | set | unset | delete` */
export function flavorCommand(context: Context): CommandUnknownOpts {
  return new Command('flavor')
    .addCommand(createCommand(context))
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(setCommand(context))
    .addCommand(unsetCommand(context))
    .addCommand(deleteCommand(context));
}

function createCommand(context: Context): CommandUnknownOpts {
  const command = new Command('create')
    .description('Add a flavor.')
    .argument('<name>', 'flavor', flavorName)
    .option('--vcpu <n>', 'virtual CPUs', amount)
    .option('--memory-mb <n>', 'memory, MiB', amount)
    .option('--disk-gb <n>', 'disk, GiB', amount)
    .addOption(repeatable('--resource <CLASS=N>', 'an amount of any resource class', amountOfClass))
    .addOption(repeatable('--extra-spec <key=value>', 'an extra spec, as in Nova', keyAndValue))
    .option('--description <text>', 'for people', '')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, flags, name) => {
    const { extraSpec, description, json } = flags;
    const content = { description, resources: resourcesOf(flags), extraSpecs: Object.fromEntries(extraSpec) };
    print(context, json, await client.createFlavor({ name, ...content }));
  });
  return addHelp(command, [
    ['berth flavor create m1.small --vcpu 2 --memory-mb 4096 --disk-gb 20', 'a size'],
    [
      'berth flavor create cpu.pinned --vcpu 4 --memory-mb 8192 --extra-spec hw:cpu_policy=dedicated',
      'its own processors',
    ],
    [
      'berth flavor create gpu --vcpu 4 --memory-mb 8192 --extra-spec preferred_resources:VGPU=1',
      'a GPU where there is one',
    ],
    ['berth flavor create metal.gold --extra-spec resources:CUSTOM_BAREMETAL_GOLD=1', 'a bare-metal node'],
  ]);
}

function listCommand(context: Context): CommandUnknownOpts {
  const listing: Listing<Flavor> = {
    nameOf: ({ name }) => name,
    whenNone: 'no flavors',
    sorts: { age: ({ updatedAtMs }) => -updatedAtMs },
    columns: [
      { head: 'FLAVOR', cell: ({ name }) => name },
      { head: 'RESOURCES', cell: ({ resources }) => pairs(resources) || '-' },
      { head: 'EXTRA SPECS', cell: ({ extraSpecs }) => pairs(extraSpecs) || '-' },
      { head: 'AGE', cell: ({ updatedAtMs }) => ageOf(context.clock, updatedAtMs) },
      { head: 'DESCRIPTION', cell: ({ description }) => description },
    ],
  };
  const command = listingCommand('list', listing).description('List flavors.');
  useClient(context, command, async (client, flags) => {
    await showListing(context, flags, listing, () => client.flavors());
  });
  return addHelp(command, [['berth flavor list', 'what there is to build from']]);
}

function showCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('show').description('Show one flavor.').argument('<name>', 'flavor', flavorName);
  useClient(context, command, (client, flags, name) =>
    showAnswer(context, flags, async () => {
      // The conductor refuses an unknown flavor, so there is always one.
      const [flavor] = (await client.flavors(name)) as [Flavor];
      return {
        plain: flavor,
        names: [flavor.name],
        draw: (terminal) => print({ ...context, terminal }, false, flavor),
      };
    }),
  );
  return addHelp(command, [['berth flavor show m1.small', 'its resources, extra specs and version']]);
}

function setCommand(context: Context): CommandUnknownOpts {
  const command = new Command('set')
    .description('Set extra specs or the description; instances keep those that they were built with.')
    .argument('<name>', 'flavor', flavorName)
    .addOption(repeatable('--extra-spec <key=value>', 'an extra spec, as in Nova', keyAndValue))
    .option('--description <text>', 'for people')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { extraSpec, description, json }, name) => {
    if (extraSpec.length === 0 && description === undefined) {
      throw usageError('there is nothing to set', 'say --extra-spec key=value or --description');
    }
    const change = { setExtraSpecs: Object.fromEntries(extraSpec), description };
    print(context, json, await client.updateFlavor(name, change));
  });
  return addHelp(command, [
    ['berth flavor set m1.small --extra-spec trait:STORAGE_DISK_SSD=preferred', 'on SSDs, where it can be'],
  ]);
}

function unsetCommand(context: Context): CommandUnknownOpts {
  const command = new Command('unset')
    .description('Remove extra specs; instances keep those that they were built with.')
    .argument('<name>', 'flavor', flavorName)
    .addOption(repeatable('--extra-spec <key>', 'the key of an extra spec', String))
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { extraSpec, json }, name) => {
    if (extraSpec.length === 0) throw usageError('there is nothing to take away', 'say --extra-spec key');
    print(context, json, await client.updateFlavor(name, { unsetExtraSpecs: [...extraSpec] }));
  });
  return addHelp(command, [['berth flavor unset m1.small --extra-spec trait:STORAGE_DISK_SSD', 'on any disks again']]);
}

function deleteCommand(context: Context): CommandUnknownOpts {
  const command = new Command('delete')
    .description('Delete a flavor; instances built from it stay.')
    .argument('<name>', 'flavor', flavorName)
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { json }, name) => {
    const flavor = await client.deleteFlavor(name);
    if (json) context.terminal.json(flavor);
    else context.terminal.print(`${name} is deleted`);
  });
  return addHelp(command, [['berth flavor delete m1.small', 'nothing more is built from it']]);
}

function print({ terminal, clock }: Context, json: boolean, flavor: Flavor): void {
  if (json) return terminal.json(flavor);
  const { name, version, description, resources, extraSpecs, createdAtMs, updatedAtMs } = flavor;
  terminal.print(
    facts(terminal, [
      ['flavor', name],
      ['version', String(version)],
      ['description', description || '-'],
      ['resources', pairs(resources) || '-'],
      ['extra specs', pairs(extraSpecs) || '-'],
      ['created', `${ageOf(clock, createdAtMs)} ago`],
      ['changed', `${ageOf(clock, updatedAtMs)} ago`],
    ]),
  );
}
