import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import type { NodeView } from '#libs/contracts/nodes';
import { answerCommand, showAnswer } from '../../answers/answer';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { type Listing, listingCommand, showListing } from '../../views/listing';
import type { Terminal } from '../../views/terminal';
import { healCommand } from './heal';
import { enrollCommand, maintainCommand, plainOrderCommand, powerCommand } from './operate';
import { classOf, contactOf, printNode, showState, withoutJournal } from './show-node';

/** `berth node list | show | enroll | maintain | unmaintain | clean | rescue | unrescue | power | heal` */
export function nodeCommand(context: Context): CommandUnknownOpts {
  return new Command('node')
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(enrollCommand(context))
    .addCommand(maintainCommand(context))
    .addCommand(plainOrderCommand(context, 'unmaintain'))
    .addCommand(plainOrderCommand(context, 'clean'))
    .addCommand(plainOrderCommand(context, 'rescue'))
    .addCommand(plainOrderCommand(context, 'unrescue'))
    .addCommand(powerCommand(context))
    .addCommand(healCommand(context));
}

function listCommand(context: Context): CommandUnknownOpts {
  const { terminal } = context;
  const listing: Listing<NodeView> = {
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
      { head: 'STATE', cell: (node) => showState(terminal, node) },
      { head: 'CLASS', cell: classOf },
      { head: 'POWER', cell: ({ isOn }) => (isOn ? 'on' : 'off') },
      { head: 'INSTANCE', cell: ({ instanceUuid: uuid }) => (uuid === '' ? '-' : { uuid }) },
      { head: 'AGENT', cell: ({ serviceHost }) => serviceHost || '-' },
      { head: 'HEALTH', cell: ({ health }) => health || 'ok' },
      { head: 'CONTACT', cell: ({ contactedAtMs }) => contactOf(context, contactedAtMs) },
      { head: 'REASON', cell: ({ reason }) => reason || '-' },
    ],
  };
  const command = listingCommand('list', listing)
    .description('List nodes with their state, instance and manager.')
    .option('--state <state>', 'only those in this state');
  useClient(context, command, async (client, flags) => {
    const isAsked = ({ state }: NodeView) => flags.state === undefined || state === flags.state.toLowerCase();
    await showListing(context, flags, listing, async () => (await client.nodes()).filter(isAsked));
  });
  return addHelp(command, [
    ['berth node list', 'the pool at a glance'],
    ['berth node list --state error', 'what needs somebody'],
  ]);
}

function showCommand(context: Context): CommandUnknownOpts {
  const command = answerCommand('show').description('Show one node.').argument('<node>', 'node');
  useClient(context, command, (client, flags, name) =>
    showAnswer(context, flags, async () => {
      // The scheduler refuses an unknown node, so there is always one.
      const [node] = (await client.nodes(name)) as [NodeView];
      const draw = (terminal: Terminal) => printNode({ ...context, terminal }, node, false);
      return { plain: withoutJournal(node), names: [node.host], draw };
    }),
  );
  return addHelp(command, [['berth node show node-17', 'its state, class, power and instance']]);
}
