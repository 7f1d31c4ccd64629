import type { Command } from '@commander-js/extra-typings';
import type { Flavor } from '#libs/domain/flavor';
import { changes, lists, noun, shows } from '../answers/declared';
import type { Context } from '../context';
import { usageError } from '../failure';
import { ageOf } from '../views/format';
import type { Listing } from '../views/listing';
import { pairs } from '../views/pairs';
import { facts } from '../views/table';
import { addAmountFlags, flavorName, keyAndValue, resourcesOf } from './build/request-flags';
import { repeatable } from './repeatable-flag';

/** `berth flavor create | list | show | set | unset | delete` */
export const flavorCommand = noun('flavor', [
  changes({
    name: 'create',
    does: 'Add a flavor.',
    takes: (command: Command) =>
      addAmountFlags(command.argument('<name>', 'flavor', flavorName))
        .addOption(repeatable('--extra-spec <key=value>', 'an extra spec, as in Nova', keyAndValue))
        .option('--description <text>', 'description', ''),
    call(client, flags, name) {
      const { extraSpec, description } = flags;
      const content = { description, resources: resourcesOf(flags), extraSpecs: Object.fromEntries(extraSpec) };
      return client.createFlavor({ name, ...content });
    },
    print,
    examples: [
      ['berth flavor create m1.small --vcpu 2 --memory-mb 4096 --disk-gb 20', 'a size'],
      [
        'berth flavor create cpu.pinned --vcpu 4 --memory-mb 8192 --extra-spec hw:cpu_policy=dedicated',
        'its own processors',
      ],
      [
        'berth flavor create cpu.paired --vcpu 4 --memory-mb 8192 --extra-spec hw:cpu_policy=dedicated --extra-spec hw:cpu_thread_policy=require',
        'on both threads of each core',
      ],
      [
        'berth flavor create gpu --vcpu 4 --memory-mb 8192 --extra-spec preferred_resources:VGPU=1',
        'a GPU where there is one',
      ],
      [
        `berth flavor create gpu.h100 --vcpu 8 --memory-mb 65536 --extra-spec 'device:gpu=class=CUSTOM_GPU,count=2,select=device.attributes.model == "H100"'`,
        'two devices by their attributes',
      ],
      ['berth flavor create metal.gold --extra-spec resources:CUSTOM_BAREMETAL_GOLD=1', 'a bare-metal node'],
    ],
  }),
  lists({
    does: 'List flavors.',
    listing: ({ clock }: Context): Listing<Flavor> => ({
      nameOf: ({ name }) => name,
      whenNone: 'no flavors',
      sorts: { age: ({ updatedAtMs }) => -updatedAtMs },
      columns: [
        { head: 'FLAVOR', cell: ({ name }) => name },
        { head: 'RESOURCES', cell: ({ resources }) => pairs(resources) || '-' },
        { head: 'EXTRA SPECS', cell: ({ extraSpecs }) => pairs(extraSpecs) || '-' },
        { head: 'AGE', cell: ({ updatedAtMs }) => ageOf(clock, updatedAtMs) },
        { head: 'DESCRIPTION', cell: ({ description }) => description },
      ],
    }),
    call: (client) => client.flavors(),
    examples: [['berth flavor list', 'what there is to build from']],
  }),
  shows({
    name: 'show',
    does: 'Show one flavor.',
    takes: (command: Command) => command.argument('<name>', 'flavor', flavorName),
    async call(client, _flags, name) {
      // The conductor refuses an unknown flavor, so there is always one.
      const [flavor] = (await client.flavors(name)) as [Flavor];
      return { plain: flavor, names: [flavor.name], draw: (context) => print(context, flavor) };
    },
    examples: [['berth flavor show m1.small', 'its resources, extra specs and version']],
  }),
  changes({
    name: 'set',
    does: 'Set extra specs or the description; instances keep those that they were built with.',
    takes: (command: Command) =>
      command
        .argument('<name>', 'flavor', flavorName)
        .addOption(repeatable('--extra-spec <key=value>', 'an extra spec, as in Nova', keyAndValue))
        .option('--description <text>', 'description'),
    async call(client, { extraSpec, description }, name) {
      if (extraSpec.length === 0 && description === undefined) {
        throw usageError('there is nothing to set', 'say --extra-spec key=value or --description');
      }
      return client.updateFlavor(name, { setExtraSpecs: Object.fromEntries(extraSpec), description });
    },
    print,
    examples: [['berth flavor set m1.small --extra-spec trait:STORAGE_DISK_SSD=preferred', 'on SSDs, where it can be']],
  }),
  changes({
    name: 'unset',
    does: 'Remove extra specs; instances keep those that they were built with.',
    takes: (command: Command) =>
      command
        .argument('<name>', 'flavor', flavorName)
        .addOption(repeatable('--extra-spec <key>', 'the key of an extra spec', String)),
    async call(client, { extraSpec }, name) {
      if (extraSpec.length === 0) throw usageError('there is nothing to take away', 'say --extra-spec key');
      return client.updateFlavor(name, { unsetExtraSpecs: [...extraSpec] });
    },
    print,
    examples: [['berth flavor unset m1.small --extra-spec trait:STORAGE_DISK_SSD', 'on any disks again']],
  }),
  changes({
    name: 'delete',
    does: 'Delete a flavor; instances built from it stay.',
    takes: (command: Command) => command.argument('<name>', 'flavor', flavorName),
    call: (client, _flags, name) => client.deleteFlavor(name),
    print: ({ terminal }, { name }) => terminal.print(`${name} is deleted`),
    examples: [['berth flavor delete m1.small', 'nothing more is built from it']],
  }),
]);

function print({ terminal, clock }: Context, flavor: Flavor): void {
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
