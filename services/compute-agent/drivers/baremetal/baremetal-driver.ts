import type { NodeOperation } from '#libs/contracts/messages';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { inventory, type Resources } from '#libs/domain/inventory';
import type { BootDevice } from '#libs/domain/nodes/node';
import { isOffered, requirePowerFree } from '#libs/domain/nodes/node-state';
import type { Log } from '#libs/runtime/log';
import type { Driver, NodeOrder } from '../driver';
import { isFenced, notSurelyHeld } from '../fenced';
import type { NodeController } from './node-controller';
import { bootOnce, type NodeWorkParts, powerOff, shutDown } from './node-work';
import type { RememberedNode } from './remembered-node';

export interface BaremetalParts {
  readonly node: RememberedNode;
  readonly controller: NodeController;
  /** By which the node is held. */
  readonly epoch: number;
  /** Whether nobody else can hold it now. */
  readonly isCertain: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly offers: 'class' | 'both' | 'machine';
  /** What the machine has, all of which an instance has. */
  readonly resources: Resources;
  /** How often a node is looked at while it boots or ends. */
  readonly pollMs: number;
  /** How long what runs on a node may take to end before its power is cut. */
  readonly shutdownMs: number;
  /** Whether a node boots its utilities, which remove what was on it, before it is given to somebody else. */
  readonly cleans: boolean;
}

/**
 * A node of bare metal: the host has all of it or nothing of it. It offers 1 of its class while it can be given an instance or has
 * one; else all of that is reserved, as in nova's Ironic driver (Placement knows no total of 0).
 *
 * What it does is remembered before it is done (`RememberedNode`), and ordered under the epoch by which the node is held. So
 * when another agent holds the node next, it goes on with what this one began, and this one can do nothing more.
 */
export async function openBaremetalDriver(parts: BaremetalParts): Promise<Driver> {
  const { node, controller, epoch, isCertain, clock, log, offers, resources, pollMs, shutdownMs, cleans } = parts;
  const closing = new AbortController();
  const work: NodeWorkParts = { node, controller, clock, pollMs };
  let cleaning: Promise<void> | undefined;
  let onCapacityChange = () => {};
  node.onStateChange(() => onCapacityChange());

  const claim = () => controller.claim(epoch);

  async function deploy(uuid: string, signal: AbortSignal): Promise<void> {
    const { state, instanceUuid } = node.record;
    if (state === 'active' && instanceUuid === uuid) return;
    if (state !== 'deploying' || instanceUuid !== uuid) {
      await node.move('deploy', { instanceUuid: uuid, step: '' });
    }
    await claim();
    await bootOnce(work, 'Pxe', signal);
    await controller.setBootDevice('Hdd', false);
    await node.move('deployed', { step: '', isOn: true, bootDevice: 'Hdd' });
  }

  async function undeploy(uuid: string): Promise<void> {
    if (node.record.instanceUuid !== uuid) return;
    await claim();
    await powerOff(work, closing.signal);
    const { state, stateBefore } = node.record;
    const next = { instanceUuid: '', step: '', isOn: false };
    // It is cleaned when its maintenance is over.
    await node.move('undeploy', state === 'maintenance' && stateBefore ? { ...next, stateBefore: 'cleaning' } : next);
    cleanIfDue();
  }

  function cleanIfDue(): void {
    if (node.record.state !== 'cleaning' || cleaning) return;
    cleaning = clean().finally(() => {
      cleaning = undefined;
    });
  }

  async function clean(): Promise<void> {
    try {
      await claim();
      if (cleans) await bootOnce(work, 'Utilities', closing.signal);
      await powerOff(work, closing.signal);
      if (!closing.signal.aborted && node.record.state === 'cleaning') {
        await node.move('cleaned', { step: '', isOn: false, bootDevice: 'Hdd' });
      }
    } catch (thrown) {
      const error = BerthError.from(thrown);
      if (closing.signal.aborted || isFenced(error) || !isCertain() || node.record.state !== 'cleaning') return;
      log.error({ event: 'cleaning_failed', host: node.record.host, error }, 'a node could not be cleaned');
      await node.move('fail', { reason: `cleaning failed: ${error.message}`, step: '' }).catch(() => {});
    }
  }

  async function operatePower(order: 'on' | 'off' | 'reboot'): Promise<void> {
    requirePowerFree(node.record.state);
    await setPower(order);
  }

  async function setPower(order: 'on' | 'off' | 'reboot'): Promise<void> {
    await claim();
    await controller.setPower(order);
    await node.change({ isOn: order !== 'off' });
  }

  /** From its disk it boots each time, from anything else once. */
  async function setBootDevice(device: BootDevice): Promise<void> {
    await claim();
    await controller.setBootDevice(device, device !== 'Hdd');
  }

  async function bootInto(device: BootDevice): Promise<void> {
    await setBootDevice(device);
    await setPower((await controller.status()).isOn ? 'reboot' : 'on');
    await node.change({ bootDevice: device });
  }

  const operations: Readonly<Record<NodeOperation, (order: NodeOrder) => Promise<void>>> = {
    manage: () => node.move('manage'),
    async provide() {
      await node.move('provide', { step: '' });
      cleanIfDue();
    },
    async clean() {
      await node.move('clean', { step: '' });
      cleanIfDue();
    },
    async rescue() {
      await node.move('rescue');
      await bootInto('Pxe');
    },
    async unrescue() {
      await bootInto('Hdd');
      await node.move('unrescue');
    },
    async maintain({ reason }) {
      const { state: stateBefore } = node.record;
      await node.move('maintain', { reason, stateBefore });
    },
    async unmaintain() {
      await node.move('unmaintain', { step: '' });
      cleanIfDue();
    },
    power_on: () => operatePower('on'),
    power_off: () => operatePower('off'),
    reboot: () => operatePower('reboot'),
    async set_boot_device({ bootDevice = 'Hdd' }) {
      requirePowerFree(node.record.state);
      await setBootDevice(bootDevice);
      await node.change({ bootDevice });
    },
  };

  cleanIfDue();
  return {
    carriesOn: true,

    capacity() {
      const { resourceClass, traits, state, instanceUuid } = node.record;
      const isFree = isOffered(state) || instanceUuid !== '';
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
    },

    async build({ uuid }, signal) {
      try {
        await deploy(uuid, AbortSignal.any([signal, closing.signal]));
      } catch (thrown) {
        // Whoever manages it next goes on with it.
        if (signal.reason === 'handed_back' || closing.signal.aborted || isFenced(thrown)) throw thrown;
        if (!isCertain()) throw notSurelyHeld(node.record.host, epoch);
        await undeploy(uuid);
        throw thrown;
      }
    },

    destroy: (uuid) => undeploy(uuid),

    async stop(uuid) {
      if (node.record.instanceUuid !== uuid) return;
      await claim();
      await shutDown(work, shutdownMs, closing.signal);
      await node.change({ isOn: false });
    },

    async start(uuid) {
      if (node.record.instanceUuid !== uuid) {
        throw new BerthError('not_found', 'instance_gone', `instance ${uuid} is not on node ${node.record.host}`);
      }
      await setPower('on');
    },

    async list() {
      const { instanceUuid: id, resourceClass, state } = node.record;
      if (id === '' || state === 'deploying') return [];
      return [{ id, resources: offers === 'machine' ? resources : { [resourceClass]: 1 } }];
    },

    /** A node that loses its power keeps its instance. */
    onExit() {},

    onCapacityChange(listener) {
      onCapacityChange = listener;
    },

    isBusy: () => node.record.state === 'deploying' || cleaning !== undefined,

    async operate(order) {
      const { updatedAtMs } = node.record;
      if (order.restsOnUpdatedAtMs !== 0 && order.restsOnUpdatedAtMs !== updatedAtMs) {
        const message = `node ${node.record.host} has changed since it was looked at: look again, and order it again`;
        throw new BerthError('failed_precondition', 'node_changed', message);
      }
      await operations[order.verb](order);
    },

    async close() {
      closing.abort();
      await cleaning;
      await controller.close();
    },
  };
}
