import { isNodeClass } from '#libs/domain/nodes/node';
import type { HostState } from '../../fleet/host-state';
import type { Check, ClassFilter, Reason } from '../filter';

/**
 * whole_node: of nodes of bare metal only those that nobody has any of.
 *
 * An instance has all of a node or nothing of it. While nodes show processors, memory and disk beside their class (the upgrade from
 * flavors that ask for these), one that is claimed by either has nothing free of the other. The claim refuses it, too; here it
 * costs no try. Reason: `node_taken`.
 */
export const wholeNodeFilter: ClassFilter = { kind: 'class', name: 'whole_node', prepare: () => [isUntouched] };

const TAKEN: Reason = { symbol: 'node_taken', phrase: 'are nodes that have an instance' };

const isUntouched: Check = {
  refuse: (host) => (host.instances > 0 && isNode(host) ? TAKEN : undefined),
  describe: ({ instances }) => `a node with ${instances === 0 ? 'no instance' : 'an instance, which has all of it'}`,
};

/** A node that shows nothing but its class has none of it free when it is taken, which is what capacity says. */
function isNode({ inventories }: HostState): boolean {
  let classCount = 0;
  let hasNodeClass = false;
  for (const name in inventories) {
    classCount++;
    hasNodeClass ||= isNodeClass(name);
  }
  return hasNodeClass && classCount > 1;
}
