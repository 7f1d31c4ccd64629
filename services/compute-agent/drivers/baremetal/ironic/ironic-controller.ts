import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { BootDevice } from '#libs/domain/nodes/node';
import { type Fence, notSurelyHeld } from '../../fenced';
import type { NodeController, NodeService, NodeStatus } from '../node-controller';
import type { IronicNode } from './ironic-node';
import type { IronicNodes } from './ironic-nodes';
import { type FencedNode, ironicProvisioning } from './ironic-provisioning';
import { mirrorState } from './mirror-state';

export interface IronicSettings {
  readonly clock: Clock;
  /** Fields of `instance_info` of all instances. */
  readonly instanceInfo: Readonly<Record<string, unknown>>;
}

const POWER = { on: 'power on', off: 'power off', shutdown: 'soft power off', reboot: 'rebooting' } as const;
const BOOT: Readonly<Record<BootDevice, string>> = { Pxe: 'pxe', Hdd: 'disk', Cd: 'cdrom', Utilities: '' };

/**
 * A node as Ironic's. Ironic knows no sessions and no epochs: an order is sent only while the node's lease is certain,
 * and what an instance could lose is guarded by Ironic itself (`ironic-provisioning.ts`).
 */
export function ironicController(uuid: string, nodes: IronicNodes, settings: IronicSettings): NodeController {
  let fence: Fence = () => {
    throw notSurelyHeld(uuid, 0);
  };
  const node: FencedNode = {
    uuid,
    read: () => nodes.read(uuid),
    order: (method, path, body) => nodes.ask({ method, path: `/v1/nodes/${uuid}${path}`, body, fence: () => fence() }),
  };
  return {
    async claim(epoch, { isCertain = () => true } = {}) {
      fence = () => {
        if (!isCertain()) throw notSurelyHeld(uuid, epoch);
      };
      fence();
    },

    status: async () => statusOf(await node.read()),

    async setPower(order) {
      const { isOn } = await node.read();
      if (order === 'reboot' ? false : isOn === (order === 'on')) return;
      const power = (target: string) => node.order('PUT', '/states/power', { target });
      await power(POWER[order]).catch((thrown: unknown) => {
        // Not all hardware can ask an operating system to end.
        if (order !== 'shutdown' || BerthError.from(thrown).reason !== 'controller_refused') throw thrown;
        return power(POWER.off);
      });
    },

    async setBootDevice(device, isOnce) {
      const name = BOOT[device];
      if (name === '') throw unsupported(`a node of Ironic's takes no boot device ${device} from Berth`);
      await node.order('PUT', '/management/boot_device', { boot_device: name, persistent: !isOnce });
    },

    async close() {},
    service: ironicService(node, nodes, settings),
  };
}

function ironicService(node: FencedNode, nodes: IronicNodes, { clock, instanceInfo }: IronicSettings): NodeService {
  let foreignInstance = '';
  let seenUpdatedAtMs: number | undefined;
  let sinceMs = 0;
  return {
    provisioning: (terms) => ironicProvisioning({ node, terms, instanceInfo }),

    get foreignInstance() {
      return foreignInstance;
    },

    async observe(record) {
      const isFirst = seenUpdatedAtMs === undefined;
      const isChanged = record.updatedAtMs !== seenUpdatedAtMs;
      // A listing from before the last change of the record would undo it.
      if (isChanged) sinceMs = clock.elapsed();
      const shown = isChanged && !isFirst ? await node.read() : await nodes.glance(node.uuid, sinceMs);
      seenUpdatedAtMs = record.updatedAtMs;
      const { fields, doubt, foreignInstance: foreign } = mirrorState(record, shown);
      foreignInstance = foreign;
      return { status: { ...shownStatus(shown), weakness: doubt }, fields };
    },

    async operate(verb, reason) {
      const provision = (target: string) => node.order('PUT', '/states/provision', { target });
      switch (verb) {
        case 'manage':
        case 'provide':
          await provision(verb);
          return;
        // Ironic cleans a node on its way from manageable to available.
        case 'clean':
          if ((await node.read()).provisionState !== 'manageable') await provision('manage');
          await provision('provide');
          return;
        case 'maintain':
          await node.order('PUT', '/maintenance', { reason });
          return;
        case 'unmaintain':
          await node.order('DELETE', '/maintenance');
          return;
        default:
          throw unsupported(`a node of Ironic's takes no order to ${verb} from Berth`);
      }
    },
  };
}

/** @throws BerthError `failed_precondition / controller_refused` while Ironic does not know the power. */
function statusOf(node: IronicNode): NodeStatus {
  if (node.isOn !== undefined) return shownStatus(node);
  const message = `Ironic does not know the power of node ${node.uuid}${node.lastError && `: ${node.lastError}`}`;
  throw new BerthError('failed_precondition', 'controller_refused', message);
}

function shownStatus({ isOn = false, isSwitching, provisionState, uuid }: IronicNode): NodeStatus {
  return { isOn, isSwitching, hasBooted: undefined, progress: provisionState, systemId: uuid };
}

function unsupported(order: string): BerthError {
  return new BerthError('unimplemented', 'order_unsupported', `${order}: order it at Ironic`);
}
