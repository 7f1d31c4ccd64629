import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { useClient } from '../../client/with-client';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { table } from '../../views/table';
import { enrollCommand, maintainCommand, plainOrderCommand, powerCommand } from './operate';
import { classOf, printNode, showState, withoutJournal } from './show-node';

/** `berth node list | show | enroll | maintain | unmaintain | clean | rescue | unrescue | power` */
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
    .addCommand(powerCommand(context));
}

function listCommand(context: Context): CommandUnknownOpts {
  const { terminal } = context;
  const command = new Command('list')
    .description('List nodes: what each is, has on it, and who manages it.')
    .option('--state <state>', 'only those in this state')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { json, state }) => {
    const nodes = (await client.nodes()).filter((node) => state === undefined || node.state === state);
    if (json) return terminal.json(nodes.map(withoutJournal));
    const rows = nodes.map((node) => [
      node.host,
      showState(terminal, node),
      classOf(node),
      node.isOn ? 'on' : 'off',
      node.instanceUuid || '-',
      node.serviceHost || '-',
      node.reason || '-',
    ]);
    const head = ['NODE', 'STATE', 'CLASS', 'POWER', 'INSTANCE', 'AGENT', 'REASON'];
    terminal.print(table(terminal, head, rows));
  });
  return addHelp(command, [
    ['berth node list', 'the pool at a glance'],
    ['berth node list --state error', 'what needs somebody'],
  ]);
}

function showCommand(context: Context): CommandUnknownOpts {
  const command = new Command('show')
    .description('Show one node.')
    .argument('<node>', 'node')
    .option('--json', 'print one JSON value', false);
  useClient(context, command, async (client, { json }, name) => {
    const [node] = await client.nodes(name);
    // An unknown node is an error of the scheduler's, so there is always one.
    if (node) printNode(context, node, json);
  });
  return addHelp(command, [['berth node show node-17', 'its state, class, power and instance']]);
}
