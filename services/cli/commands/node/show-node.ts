import type { NodeView } from '#libs/contracts/nodes';
import type { LastOrder } from '#libs/domain/nodes/node';
import type { Context } from '../../context';
import { ageOf } from '../../views/format';
import { facts } from '../../views/table';
import type { Terminal } from '../../views/terminal';

/** One node, printed by `show`, and by other commands when they are done. */
export function printNode(context: Context, node: NodeView): void {
  const { terminal, clock } = context;
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

/**
 * Age of its controller's last answer: an agent records it every few minutes, and when the controller stops answering.
 */
export function contactOf({ clock }: Context, contactedAtMs: number): string {
  return contactedAtMs === 0 ? '-' : `${ageOf(clock, contactedAtMs)} ago`;
}

/** The operator's last order; one that has only begun may be running, or its agent has died. */
function orderOf({ clock }: Context, { verb, outcome, begunAtMs, message }: LastOrder): string {
  return `${verb} ${outcome}, ${ageOf(clock, begunAtMs)} ago${message ? `: ${message}` : ''}`;
}

/** The node without its journal, which only agents use. */
export function withoutJournal(node: NodeView): Omit<NodeView, 'journal'> {
  const { journal: _journal, ...shown } = node;
  return shown;
}

/** Its class without the common prefix. */
export function classOf({ resourceClass }: NodeView): string {
  return resourceClass.replace('CUSTOM_BAREMETAL_', '') || '-';
}

/** Its state, in colour. */
export function showState({ colours }: Terminal, { state }: NodeView): string {
  if (state === 'error') return colours.red(state);
  return state === 'available' || state === 'active' ? colours.green(state) : colours.yellow(state);
}
