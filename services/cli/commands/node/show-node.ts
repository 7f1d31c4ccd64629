import type { NodeView } from '#libs/contracts/nodes';
import type { LastOrder } from '#libs/domain/nodes/node';
import type { Context } from '../../context';
import { ageOf } from '../../views/format';
import { facts } from '../../views/table';
import type { Terminal } from '../../views/terminal';

/** One node, as `show` prints it and the others when they are done. */
export function printNode(context: Context, node: NodeView, json: boolean): void {
  const { terminal, clock } = context;
  if (json) return terminal.json(withoutJournal(node));
  terminal.print(
    facts(terminal, [
      ['node', node.host],
      [
        'state',
        `${showState(terminal, node)}${node.stateBefore ? `, was ${node.stateBefore}` : ''} ${node.reason}`.trim(),
      ],
      ['class', classOf(node)],
      ['traits', node.traits.join(' ') || '-'],
      ['power', `${node.isOn ? 'on' : 'off'}, boots from ${node.bootDevice}`],
      ['instance', node.instanceUuid || '-'],
      ['machine', node.systemId || 'not known yet'],
      ['controller', node.health || 'ok'],
      ['last contact', contactOf(context, node.contactedAtMs)],
      ...(node.lastOrder ? [['last order', orderOf(context, node.lastOrder)] as [string, string]] : []),
      ['pool / agent', `${node.pool} / ${node.serviceHost || '-'}`],
      ['last change', `${ageOf(clock, node.updatedAtMs)} ago`],
    ]),
  );
}

/** When its controller answered last: an agent notes it every few minutes, and when the controller ceases to answer. */
export function contactOf({ clock }: Context, contactedAtMs: number): string {
  return contactedAtMs === 0 ? '-' : `${ageOf(clock, contactedAtMs)} ago`;
}

/** As much of a message as a row of a list has room for. */
export function shortened(text: string): string {
  return text.length <= MOST_OF_ROW ? text : `${text.slice(0, MOST_OF_ROW - 1)}…`;
}

const MOST_OF_ROW = 60;

/** What an operator ordered last; one that has only begun may be under way, or its agent has died. */
function orderOf({ clock }: Context, { verb, outcome, begunAtMs, message }: LastOrder): string {
  return `${verb} ${outcome}, ${ageOf(clock, begunAtMs)} ago${message ? `: ${message}` : ''}`;
}

/** What people and programs get of it: the rest is between agents. */
export function withoutJournal(node: NodeView): Omit<NodeView, 'journal'> {
  const { journal: _journal, ...shown } = node;
  return shown;
}

/** Its class without what all have in common. */
export function classOf({ resourceClass }: NodeView): string {
  return resourceClass.replace('CUSTOM_BAREMETAL_', '') || '-';
}

/** Its state, in colour. */
export function showState({ colours }: Terminal, { state }: NodeView): string {
  if (state === 'error') return colours.red(state);
  return state === 'available' || state === 'active' ? colours.green(state) : colours.yellow(state);
}
