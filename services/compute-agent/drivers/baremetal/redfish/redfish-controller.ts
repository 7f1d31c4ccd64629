import { BerthError } from '#libs/domain/errors';
import type { NodeController } from '../node-controller';
import { FencedSession, type RedfishAddress } from './fenced-session';
import type { ListSessions } from './list-sessions';

/** DMTF's `ResetType` for each order, those that are tried first before others that mean nearly the same. */
const RESET_TYPES = {
  on: ['On', 'ForceOn'],
  off: ['ForceOff'],
  shutdown: ['GracefulShutdown', 'PushPowerButton', 'ForceOff'],
  reboot: ['ForceRestart', 'PowerCycle'],
} as const;

/**
 * A node by its ComputerSystem (DMTF's schemas ComputerSystem and Session), under a fenced session.
 *
 * @param listSessions  shared with other nodes of its service
 */
export function redfishController(node: string, address: RedfishAddress, listSessions?: ListSessions): NodeController {
  const session = new FencedSession(node, address, listSessions);
  const { system } = address;
  return {
    claim: (epoch) => session.claim(epoch),

    async status() {
      const { body } = await session.ask(system);
      const { PowerState, BootProgress } = body as SystemBody;
      const isOn = PowerState === 'On';
      return { isOn, hasBooted: isOn && BootProgress?.LastState === 'OSRunning' };
    },

    async setPower(order) {
      const { body } = await session.ask(system);
      const { Actions, PowerState } = body as SystemBody;
      const isThere = (order === 'on' && PowerState === 'On') || (order === 'off' && PowerState === 'Off');
      if (isThere || (order === 'shutdown' && PowerState === 'Off')) return;
      const reset = Actions?.['#ComputerSystem.Reset'];
      const allowed = reset?.['ResetType@Redfish.AllowableValues'];
      const ResetType = RESET_TYPES[order].find((type) => allowed?.includes(type) ?? true);
      if (!reset || ResetType === undefined) {
        const message = `${system} can not be ordered ${RESET_TYPES[order].join(' or ')}`;
        throw new BerthError('failed_precondition', 'controller_refused', message);
      }
      await session.ask(reset.target, { method: 'POST', body: { ResetType } });
    },

    async setBootDevice(device, isOnce) {
      const Boot = { BootSourceOverrideTarget: device, BootSourceOverrideEnabled: isOnce ? 'Once' : 'Continuous' };
      await session.ask(system, { method: 'PATCH', body: { Boot } });
    },

    close: () => session.close(),
  };
}

interface SystemBody {
  readonly PowerState?: string;
  readonly BootProgress?: { readonly LastState?: string };
  readonly Actions?: {
    readonly '#ComputerSystem.Reset'?: {
      readonly target: string;
      readonly 'ResetType@Redfish.AllowableValues'?: readonly string[];
    };
  };
}
