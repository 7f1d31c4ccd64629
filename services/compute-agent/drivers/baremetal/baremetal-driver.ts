import { BerthError } from '#libs/domain/errors';
import { inventory } from '#libs/domain/inventory';
import { isOffered } from '#libs/domain/nodes/node-state';
import type { Driver, HostCapacity } from '../driver';
import { buildOnNode, undeploy } from './deploy-node';
import { type BaremetalParts, type ManagedNode, managedNode } from './managed-node';
import { NodeCleaning } from './node-cleaning';
import { powerOn, shutDown } from './node-work';
import { operateNode } from './operate-node';
import { keepSynced } from './sync-power';

/**
 * A node of bare metal: the host has all of it or nothing. It offers 1 of its class while it is free for an instance or
 * has one; otherwise that 1 is reserved, as in Nova's Ironic driver (Placement knows no total of 0).
 *
 * Every step is recorded before it is taken (`RememberedNode`), and ordered under the epoch of the node's lease. So the
 * node's next agent continues where this one stopped, and this one can't order anything any more.
 */
export async function openBaremetalDriver(parts: BaremetalParts): Promise<Driver> {
  const { node, controller, offers, resources, shutdownMs, sync } = parts;
  let onCapacityChange = () => {};
  node.onStateChange(() => onCapacityChange());
  const managed = managedNode(parts, () => onCapacityChange());
  const cleaning = new NodeCleaning(managed);
  const { closing, work, takeTurn, claimPatiently } = managed;
  const isBusy = () => node.record.state === 'deploying' || cleaning.isRunning;
  cleaning.startIfDue();
  if (sync) void keepSynced(managed, sync, () => isBusy() || takeTurn.activeCount + takeTurn.pendingCount > 0);
  return {
    carriesOn: true,
    capacity: () => capacityOf(managed),
    build: (instance, signal) => buildOnNode(managed, cleaning, instance, signal),
    destroy: (uuid) => undeploy(managed, cleaning, uuid),

    async stop(uuid) {
      if (node.record.instanceUuid !== uuid) return;
      await claimPatiently(closing.signal);
      await shutDown(work, shutdownMs, closing.signal);
      await node.change({ isOn: false });
    },

    async start(uuid) {
      if (node.record.instanceUuid !== uuid) {
        throw new BerthError('not_found', 'instance_gone', `instance ${uuid} is not on node ${node.record.host}`);
      }
      await claimPatiently(closing.signal);
      await powerOn(work, closing.signal);
      await node.change({ isOn: true });
    },

    async list() {
      const { instanceUuid: id, resourceClass, state } = node.record;
      const { foreignInstance = '' } = controller.service ?? {};
      // Its 1 is reserved.
      if (id === '') return foreignInstance === '' ? [] : [{ id: foreignInstance, resources: {} }];
      if (state === 'deploying') return [];
      return [{ id, resources: offers === 'machine' ? resources : { [resourceClass]: 1 } }];
    },

    /** A node that loses its power keeps its instance. */
    onExit() {},

    onCapacityChange(listener) {
      onCapacityChange = listener;
    },

    isBusy,
    operate: (order) => operateNode(managed, cleaning, order),

    async close() {
      closing.abort();
      await cleaning.ended();
      await controller.close();
    },
  };
}

function capacityOf({ node, health, offers, resources }: ManagedNode): HostCapacity {
  const { resourceClass, traits, state, instanceUuid } = node.record;
  // A controller that refuses would fail the build.
  const isFree = instanceUuid !== '' || (isOffered(state) && !health.isRefused);
  const whole = (total: number) => ({
    ...inventory(total),
    reserved: isFree ? 0 : total,
    minUnit: total,
    maxUnit: total,
  });
  const amounts = offers === 'class' ? {} : resources;
  const ofClass = offers === 'machine' || resourceClass === '' ? {} : { [resourceClass]: 1 };
  const all = Object.entries({ ...amounts, ...ofClass });
  const inventories = Object.fromEntries(all.map(([name, total]) => [name, whole(total)]));
  return { inventories, traits, nested: [], capabilities: {} };
}
