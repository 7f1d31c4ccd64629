import { Argument, type Command, Option } from '@commander-js/extra-typings';
import type { NodeOrder } from '#libs/client/operate-node';
import type { NodeView } from '#libs/contracts/nodes';
import { changes, lists, noun, shows } from '../../answers/declared';
import type { Context } from '../../context';
import type { Listing } from '../../views/listing';
import { healCommand } from './heal';
import { classOf, contactOf, printNode, showState, withoutJournal } from './show-node';

const ofNode = (command: Command) => command.argument('<node>', 'node');
const shown = { plain: withoutJournal, print: printNode };

const POWER_VERBS = { on: 'power_on', off: 'power_off', reboot: 'reboot' } as const;

/** `berth node list | show | enroll | maintain | unmaintain | clean | rescue | unrescue | power | heal` */
export const nodeCommand = noun('node', [
  lists({
    does: 'List nodes with their state, instance and manager.',
    takes: (command: Command) => command.option('--state <state>', 'only those in this state'),
    listing: (context: Context): Listing<NodeView> => ({
      nameOf: ({ host }) => host,
      whenNone: 'no nodes',
      plainOf: withoutJournal,
      sorts: {
        age: ({ updatedAtMs }) => -updatedAtMs,
        state: ({ state }) => state,
        class: classOf,
      },
      columns: [
        { head: 'NODE', cell: ({ host }) => host },
        { head: 'STATE', cell: (node) => showState(context.terminal, node) },
        { head: 'CLASS', cell: classOf },
        { head: 'POWER', cell: ({ isOn }) => (isOn ? 'on' : 'off') },
        { head: 'INSTANCE', cell: ({ instanceUuid: uuid }) => (uuid === '' ? '-' : { uuid }) },
        { head: 'AGENT', cell: ({ serviceHost }) => serviceHost || '-' },
        { head: 'HEALTH', cell: ({ health }) => health || 'ok' },
        { head: 'CONTACT', cell: ({ contactedAtMs }) => contactOf(context, contactedAtMs) },
        { head: 'REASON', cell: ({ reason }) => reason || '-' },
      ],
    }),
    async call(client, { state: asked }) {
      const isAsked = ({ state }: NodeView) => asked === undefined || state === asked.toLowerCase();
      return (await client.nodes()).filter(isAsked);
    },
    examples: [
      ['berth node list', 'the pool at a glance'],
      ['berth node list --state error', 'what needs somebody'],
    ],
  }),
  shows({
    name: 'show',
    does: 'Show one node.',
    takes: ofNode,
    async call(client, _flags, name) {
      // The scheduler refuses an unknown node, so there is always one.
      const [node] = (await client.nodes(name)) as [NodeView];
      return { plain: withoutJournal(node), names: [node.host], draw: (context) => printNode(context, node) };
    },
    examples: [['berth node show node-17', 'its state, class, power and instance']],
  }),
  changes({
    ...shown,
    name: 'enroll',
    does: 'Manage a node of the inventory: Berth cleans it, then places instances on it.',
    takes: (command: Command) =>
      ofNode(command).option('--manageable', 'manage it only: do not clean it, and place no instances on it', false),
    async call(client, { manageable }, name) {
      const [present] = await client.nodes(name);
      const managed = present?.state === 'manageable' ? present : await client.operateNode(name, { verb: 'manage' });
      return manageable ? managed : client.operateNode(name, { verb: 'provide' });
    },
    examples: [['berth node enroll node-17', 'new in the rack: clean it and give it out']],
  }),
  changes({
    ...shown,
    name: 'maintain',
    does: 'Take a node out of service at once; an instance on it stays.',
    takes: (command: Command) => ofNode(command).option('--reason <text>', 'the reason, for other operators', ''),
    call: (client, { reason }, name) => client.operateNode(name, { verb: 'maintain', reason }),
    examples: [['berth node maintain node-17 --reason "new disk"', 'no new instance from now on']],
  }),
  ordering('unmaintain', 'End the maintenance of a node: it returns to its earlier state.'),
  ordering('clean', 'Remove all data from a node without an instance.'),
  ordering('rescue', 'Boot a node with an instance from the network, to repair it.'),
  ordering('unrescue', 'Boot a node in rescue from its disk again.'),
  changes({
    ...shown,
    name: 'power',
    does: 'Switch a node on or off, reboot it, or set its boot device.',
    takes: (command: Command) =>
      ofNode(command)
        .addArgument(new Argument('[order]', 'what to do').choices(['on', 'off', 'reboot']))
        .addOption(new Option('--boot <device>', 'boot from this next').choices(['Pxe', 'Hdd', 'Cd', 'Utilities'])),
    async call(client, { boot }, name, order) {
      const booting = boot && (await client.operateNode(name, { verb: 'set_boot_device', bootDevice: boot }));
      const switched = order && (await client.operateNode(name, { verb: POWER_VERBS[order] }));
      // The scheduler refuses an unknown node, so there is always one.
      return switched ?? booting ?? ((await client.nodes(name)) as [NodeView])[0];
    },
    examples: [
      ['berth node power node-17 off', 'cuts its power; an instance on it stays'],
      ['berth node power node-17 reboot --boot Pxe', 'boots it from the network once'],
    ],
  }),
  healCommand,
]);

/** A command with a single order to a node, without options. */
function ordering(verb: NodeOrder['verb'], does: string) {
  return changes({
    ...shown,
    name: verb,
    does,
    takes: ofNode,
    call: (client, _flags, node) => client.operateNode(node, { verb }),
    examples: [[`berth node ${verb} node-17`, 'then berth node show node-17 says how far it is']],
  });
}
