import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { BootDevice } from '#libs/domain/nodes/node';
import type { FencedSession } from './fenced-session';
import { patchResource } from './patch-resource';
import { messageOf, mustSucceed, type RedfishAnswer } from './redfish-http';
import type { RedfishService } from './redfish-service';

export interface BootOptions {
  readonly BootSourceOverrideTarget?: string | null;
  readonly BootSourceOverrideEnabled?: string | null;
  readonly BootSourceOverrideMode?: string | null;
  readonly 'BootSourceOverrideTarget@Redfish.AllowableValues'?: readonly string[];
  readonly 'BootSourceOverrideEnabled@Redfish.AllowableValues'?: readonly string[];
}

/** Polls until a service shows an accepted override, and their interval. */
const MAX_LOOKS = 4;
const LOOK_PAUSE_MS = 500;

/** The boot override of a system resource; undefined when it shows none. */
export function bootOf(body: RedfishAnswer['body']): BootOptions | undefined {
  const { Boot } = body as { Boot?: BootOptions };
  return typeof Boot === 'object' && Boot !== null ? Boot : undefined;
}

/** True when a system supports a permanent override. */
export function knowsContinuous(boot: BootOptions | undefined): boolean {
  return boot?.['BootSourceOverrideEnabled@Redfish.AllowableValues']?.includes('Continuous') ?? true;
}

/**
 * Sets a system's boot device in whichever way its service accepts: at the system, or at its settings resource;
 * permanently, or once where permanently is refused; with the boot mode, which some services require and others refuse.
 * Then it verifies the override, because a service may accept it and drop it.
 *
 * @throws BerthError `failed_precondition / boot_device_refused`
 */
export async function overrideBoot(
  session: FencedSession,
  { system, service }: { readonly system: string; readonly service: RedfishService },
  device: BootDevice,
  isOnce: boolean,
): Promise<void> {
  const { body } = await session.ask(system);
  session.requireSame(body);
  const boot = bootOf(body);
  requireAllowed(system, boot, device);
  const access = { read: (link: string) => session.ask(link), send: session.send.bind(session) };
  const settings = settingsOf(body);
  let refusal = '';
  for (const link of await linksOf(session, system, settings)) {
    for (const Boot of variantsOf(boot, device, isOnce)) {
      const answer = await patchResource(link, access, () => ({ Boot }));
      if (answer === undefined) continue;
      if (answer.status >= 500 || answer.status === 409 || answer.status === 429) mustSucceed(answer, link);
      if (answer.status < 300 && (!isOnce || (await isShown(session, service, [system, settings], device)))) return;
      refusal = answer.status < 300 ? 'it takes that and does not show it' : `${answer.status} ${messageOf(answer)}`;
    }
  }
  // Firmware boots from the disk by default.
  if (!isOnce && device === 'Hdd') return;
  const message = `${service.root}${system} can not be set to boot from ${device}: ${refusal.trim()}`;
  throw new BerthError('failed_precondition', 'boot_device_refused', message);
}

function requireAllowed(system: string, boot: BootOptions | undefined, device: BootDevice): void {
  const allowed = boot?.['BootSourceOverrideTarget@Redfish.AllowableValues'];
  if (!Array.isArray(allowed) || allowed.length === 0 || allowed.includes(device)) return;
  const message = `${system} can not boot from ${device}, only from ${allowed.join(', ')}`;
  throw new BerthError('failed_precondition', 'boot_device_refused', message);
}

/** The resources that may accept the write, the likelier first. */
async function linksOf(session: FencedSession, system: string, settings: string | undefined): Promise<string[]> {
  if (settings === undefined) return [system];
  const answer = await session.send(settings);
  return answer.status < 300 && bootOf(answer.body) ? [settings, system] : [system, settings];
}

function settingsOf(body: RedfishAnswer['body']): string | undefined {
  const { '@Redfish.Settings': settings } = body as {
    '@Redfish.Settings'?: { SettingsObject?: { '@odata.id'?: string } };
  };
  return settings?.SettingsObject?.['@odata.id'];
}

/** The shown boot mode goes with the target: some services require it, some forget it when omitted, some refuse it. */
function variantsOf(boot: BootOptions | undefined, device: BootDevice, isOnce: boolean): BootOptions[] {
  const mode = boot?.BootSourceOverrideMode;
  const modes = mode ? [mode, undefined] : [undefined, 'UEFI'];
  const kinds = isOnce ? ['Once'] : knowsContinuous(boot) ? ['Continuous', 'Once'] : ['Once'];
  return kinds.flatMap((BootSourceOverrideEnabled) =>
    modes.map((one) => ({
      BootSourceOverrideTarget: device,
      BootSourceOverrideEnabled,
      ...(one === undefined ? {} : { BootSourceOverrideMode: one }),
    })),
  );
}

async function isShown(
  session: FencedSession,
  { clock }: RedfishService,
  links: readonly (string | undefined)[],
  device: BootDevice,
): Promise<boolean> {
  for (let looks = 1; looks <= MAX_LOOKS; looks++) {
    let isHidden = true;
    for (const link of links) {
      const answer = link === undefined ? undefined : await session.send(link);
      const boot = answer && answer.status < 300 ? bootOf(answer.body) : undefined;
      if (boot?.BootSourceOverrideTarget === undefined) continue;
      if (boot.BootSourceOverrideTarget === device && boot.BootSourceOverrideEnabled !== 'Disabled') return true;
      isHidden = false;
    }
    // A service that shows no override can't be verified.
    if (isHidden) return true;
    if (looks < MAX_LOOKS) await sleep(clock, LOOK_PAUSE_MS);
  }
  return false;
}
