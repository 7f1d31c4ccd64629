import { Argument, Command, type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import type { NodeOrder } from '#libs/client/operate-node';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { printNode } from './show-node';

/** `berth node enroll` */
export function enrollCommand(context: Context): CommandUnknownOpts {
  const command = new Command('enroll')
    .description('Manage a node of the inventory: Berth cleans it, then places instances on it.')
    .argument('<node>', 'node')
    .option('--manageable', 'stop there: do not clean it, and place no instances on it', false)
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { json, manageable }, name) => {
    const [present] = await client.nodes(name);
    const managed = present?.state === 'manageable' ? present : await client.operateNode(name, { verb: 'manage' });
    printNode(context, manageable ? managed : await client.operateNode(name, { verb: 'provide' }), json);
  });
  return addHelp(command, [['berth node enroll node-17', 'new in the rack: clean it and give it out']]);
}

/** `berth node maintain` */
export function maintainCommand(context: Context): CommandUnknownOpts {
  const command = new Command('maintain')
    .description('Take a node out of service at once; an instance on it stays.')
    .argument('<node>', 'node')
    .option('--reason <text>', 'why, for other operators', '')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { json, reason }, name) => {
    printNode(context, await client.operateNode(name, { verb: 'maintain', reason }), json);
  });
  return addHelp(command, [['berth node maintain node-17 --reason "new disk"', 'no new instance from now on']]);
}

/** Commands with a single order to a node, without options. */
const PLAIN_ORDERS = {
  unmaintain: 'End the maintenance of a node: it is what it was before.',
  clean: 'Remove what is on a node that has no instance.',
  rescue: 'Boot a node with an instance from the network, to mend it.',
  unrescue: 'Boot a node in rescue from its disk again.',
} as const satisfies Partial<Record<NodeOrder['verb'], string>>;

/** `berth node unmaintain | clean | rescue | unrescue` */
export function plainOrderCommand(context: Context, verb: keyof typeof PLAIN_ORDERS): CommandUnknownOpts {
  const command = new Command(verb)
    .description(PLAIN_ORDERS[verb])
    .argument('<node>', 'node')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { json }, node) => {
    printNode(context, await client.operateNode(node, { verb }), json);
  });
  return addHelp(command, [[`berth node ${verb} node-17`, 'then berth node show node-17 says how far it is']]);
}

const POWER_VERBS = { on: 'power_on', off: 'power_off', reboot: 'reboot' } as const;

/** `berth node power` */
export function powerCommand(context: Context): CommandUnknownOpts {
  const command = new Command('power')
    .description('Switch a node on or off, reboot it, or set its boot device.')
    .argument('<node>', 'node')
    .addArgument(new Argument('[order]', 'what to do').choices(['on', 'off', 'reboot']))
    .addOption(new Option('--boot <device>', 'boot from this next').choices(['Pxe', 'Hdd', 'Cd', 'Utilities']))
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { json, boot }, name, order) => {
    const booting = boot && (await client.operateNode(name, { verb: 'set_boot_device', bootDevice: boot }));
    const switched = order && (await client.operateNode(name, { verb: POWER_VERBS[order] }));
    const node = switched ?? booting ?? (await client.nodes(name))[0];
    if (node) printNode(context, node, json);
  });
  return addHelp(command, [
    ['berth node power node-17 off', 'cuts its power; an instance on it stays'],
    ['berth node power node-17 reboot --boot Pxe', 'boots it from the network once'],
  ]);
}
