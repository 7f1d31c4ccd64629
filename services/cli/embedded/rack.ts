import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { BootDevice } from '#libs/domain/nodes/node';
import type { NodeController } from '../../compute-agent/drivers/baremetal/node-controller';
import type { NodeDescription } from '../../compute-agent/drivers/baremetal/sources/node-source';
import type { PoolNodes } from '../../compute-agent/pool/open-node';

/** A simulated node, and its orders. */
export interface RackedNode {
  readonly name: string;
  isOn: boolean;
  bootedAtMs: number;
  /** The next boot device, if not the disk. */
  nextBoot: BootDevice;
  /** The epoch of its claim. */
  epoch: number;
  /** The device of each boot. */
  readonly boots: BootDevice[];
}

/** Simulated nodes of bare metal with fenced controllers, for agents in this process. */
export interface Rack {
  readonly nodes: ReadonlyMap<string, RackedNode>;
  /** An agent's nodes, with controllers that hold that agent's own claims. */
  poolNodes(agent: string): PoolNodes;
  /** Switches a node off with an agent's old controller, under its old claim. */
  switchOffAs(agent: string, node: string): Promise<void>;
}

const RESOURCE_CLASS = 'CUSTOM_BAREMETAL_DEMO';

/** @param bootMs  boot time of a node */
export function createRack(clock: Clock, names: readonly string[], bootMs: number): Rack {
  const nodes = new Map(names.map((name) => [name, rackedNode(name)]));
  const handles = new Map<string, NodeController>();
  const descriptions = names.map(
    (name): NodeDescription => ({
      name,
      resourceClass: RESOURCE_CLASS,
      traits: [],
      resources: {},
    }),
  );
  return {
    nodes,
    poolNodes: (agent) => ({
      descriptions,
      controller(name) {
        const controller = fencedController(clock, nodes.get(name) as RackedNode, bootMs);
        handles.set(`${agent} ${name}`, controller);
        return controller;
      },
    }),
    async switchOffAs(agent, node) {
      await handles.get(`${agent} ${node}`)?.setPower('off');
    },
  };
}

function rackedNode(name: string): RackedNode {
  return { name, isOn: false, bootedAtMs: 0, nextBoot: 'Hdd', epoch: 0, boots: [] };
}

function fencedController(clock: Clock, node: RackedNode, bootMs: number): NodeController {
  let claimed = 0;
  const requireClaim = (epoch: number) => {
    if (node.epoch <= epoch) return;
    const message = `a newer agent now manages ${node.name}: its epoch is ${node.epoch}, not ${epoch}`;
    throw new BerthError('aborted', 'epoch_superseded', message);
  };
  return {
    async claim(epoch) {
      requireClaim(epoch);
      claimed = epoch;
      node.epoch = epoch;
    },

    async status() {
      requireClaim(claimed);
      return { isOn: node.isOn, hasBooted: node.isOn && clock.elapsed() >= node.bootedAtMs };
    },

    async setPower(order) {
      requireClaim(claimed);
      const isSwitchedOn = order === 'reboot' || (order === 'on' && !node.isOn);
      node.isOn = order === 'on' || order === 'reboot';
      if (!isSwitchedOn) return;
      node.boots.push(node.nextBoot);
      node.nextBoot = 'Hdd';
      node.bootedAtMs = clock.elapsed() + bootMs;
    },

    async setBootDevice(device) {
      requireClaim(claimed);
      node.nextBoot = device;
    },

    async close() {},
  };
}
