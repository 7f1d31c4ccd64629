import { BerthError } from '#libs/domain/errors';
import type { NodeController } from '../node-controller';
import { bootOf, knowsContinuous, overrideBoot } from './boot-override';
import { FencedSession, isAnother } from './fenced-session';
import { listOf, mustSucceed, type RedfishAnswer } from './redfish-http';
import { type RedfishService, splitAddress } from './redfish-service';
import { systemIdOf } from './system-id';

/** DMTF's `ResetType` candidates for each order, preferred ones first. */
const RESET_TYPES = {
  on: ['On', 'ForceOn'],
  off: ['ForceOff'],
  shutdown: ['GracefulShutdown', 'PushPowerButton', 'ForceOff'],
  reboot: ['ForceRestart', 'PowerCycle', 'GracefulRestart'],
} as const;

/**
 * A node as a ComputerSystem (DMTF's schemas ComputerSystem and Session), under a fenced session.
 *
 * @param address   of the system: `https://bmc-7/redfish/v1/Systems/1`
 * @param services  shared with other nodes of the agent
 * @param systemId  replaces the id of a system whose uuid is not unique
 */
export function redfishController(
  node: string,
  address: string,
  services: (root: string) => RedfishService,
  systemId = '',
): NodeController {
  const { root, link: system } = splitAddress(address);
  const service = services(root);
  const session = new FencedSession(node, system, service);
  const at = { system, service };

  /** Switched on and not shown as on yet: a slow machine is shown as off, and comes on all the same. */
  let isComingOn = false;

  async function read(): Promise<SystemBody> {
    const { body } = await session.ask(system);
    session.requireSame(body);
    if (body['PowerState'] === 'On') isComingOn = false;
    return body;
  }

  /**
   * If permanent overrides are refused, sets a one-time boot from the disk, unless an override is pending; that also
   * clears the last one-time device.
   */
  async function keepDisk(body: SystemBody): Promise<void> {
    const boot = bootOf(body as RedfishAnswer['body']);
    const isPending = boot?.BootSourceOverrideEnabled === 'Once' || boot?.BootSourceOverrideEnabled === 'Continuous';
    if (boot === undefined || knowsContinuous(boot) || isPending) return;
    await overrideBoot(session, at, 'Hdd', true).catch((thrown: unknown) => {
      if (BerthError.from(thrown).reason !== 'boot_device_refused') throw thrown;
    });
    await read();
  }

  return {
    claim: (epoch, terms = {}) => session.claim(epoch, terms),

    async status() {
      const body = await read();
      const { PowerState, BootProgress } = body;
      const isOn = isOnBy(system, PowerState);
      const progress = BootProgress?.LastState ?? undefined;
      const boot = bootOf(body as RedfishAnswer['body']);
      const shown = systemIdOf(body as RedfishAnswer['body']);
      const isPending = boot?.BootSourceOverrideEnabled === 'Once';
      return {
        isOn,
        isSwitching: PowerState === 'PoweringOn' || PowerState === 'PoweringOff',
        hasBooted: progress === undefined ? undefined : isOn && progress === 'OSRunning',
        ...(progress === undefined ? {} : { progress }),
        pendingBoot: isPending ? (boot?.BootSourceOverrideTarget ?? undefined) : undefined,
        // Another machine may have replaced the listed one since.
        systemId: isAnother(systemId, shown) ? shown : systemId || shown,
        weakness: session.isMarkKept ? '' : 'the system keeps no asset tag, by which earlier managers are kept off',
      };
    },

    async setPower(order) {
      const body = await read();
      const { PowerState } = body;
      const isOffSoon = PowerState === 'Off' || PowerState === 'PoweringOff';
      const isOnSoon = PowerState === 'On' || PowerState === 'PoweringOn';
      const isCutAnyway = order === 'off' && isComingOn;
      if (order === 'on' ? isOnSoon : order !== 'reboot' && isOffSoon && !isCutAnyway) return;
      if (order === 'on' || order === 'reboot') {
        await keepDisk(body);
        isComingOn = true;
      }
      await reset(session, system, body, order).catch((thrown: unknown) => {
        // A machine that is off may refuse to be switched off.
        if (!isCutAnyway || BerthError.from(thrown).reason !== 'controller_refused') throw thrown;
      });
      if (isCutAnyway) isComingOn = false;
    },

    setBootDevice: (device, isOnce) => overrideBoot(session, at, device, isOnce),

    close: () => session.close(),
  };
}

/** The power is on in the states between on and off. @throws BerthError when the state is missing or unknown. */
function isOnBy(system: string, state: string | null | undefined): boolean {
  if (typeof state === 'string' && state !== '') return state !== 'Off';
  throw new BerthError('failed_precondition', 'controller_refused', `${system} shows no PowerState`);
}

async function reset(
  session: FencedSession,
  system: string,
  { Actions }: SystemBody,
  order: keyof typeof RESET_TYPES,
): Promise<void> {
  const action = Actions?.['#ComputerSystem.Reset'];
  const target = action?.target ?? `${system}/Actions/ComputerSystem.Reset`;
  const allowed =
    action?.['ResetType@Redfish.AllowableValues'] ?? (await allowedBy(session, action?.['@Redfish.ActionInfo']));
  const types = RESET_TYPES[order].filter((type) => allowed?.includes(type) ?? true);
  let last: RedfishAnswer | undefined;
  for (const ResetType of types) {
    last = await session.send(target, { method: 'POST', body: { ResetType } });
    if (last.status === 412 || last.status === 428) {
      last = await session.send(target, { method: 'POST', body: { ResetType }, ifMatch: '*' });
    }
    // Services refuse a request with an unknown value as a whole.
    if (last.status !== 400 && last.status !== 501) break;
  }
  if (last === undefined) {
    const message = `${system} can not be ordered ${RESET_TYPES[order].join(' or ')}, only ${allowed?.join(', ')}`;
    throw new BerthError('failed_precondition', 'controller_refused', message);
  }
  mustSucceed(last, target);
}

/** The allowable values of the action's own resource (`ActionInfo`), which may replace the inline ones. */
async function allowedBy(session: FencedSession, link: string | undefined): Promise<readonly string[] | undefined> {
  if (link === undefined) return undefined;
  const { status, body } = await session.send(link);
  if (status >= 300) return undefined;
  const parameters = listOf<{ Name?: string; AllowableValues?: readonly string[] }>(body['Parameters']);
  return parameters.find(({ Name }) => Name === 'ResetType')?.AllowableValues;
}

interface SystemBody {
  readonly PowerState?: string | null;
  readonly BootProgress?: { readonly LastState?: string | null } | null;
  readonly Actions?: {
    readonly '#ComputerSystem.Reset'?: {
      readonly target?: string;
      readonly '@Redfish.ActionInfo'?: string;
      readonly 'ResetType@Redfish.AllowableValues'?: readonly string[];
    };
  };
}
