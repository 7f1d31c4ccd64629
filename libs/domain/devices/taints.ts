import { matchesSpec } from '../extra-specs/matches-spec';
import type { Device } from './device';
import type { DeviceAlternative } from './device-request';

type Tainted = Pick<Device, 'taints' | 'evicts'>;
type Tolerant = Pick<DeviceAlternative, 'tolerations' | 'tolerationSeconds'>;

/**
 * A device's taints that an alternative does not tolerate, for a new claim. One that is tolerated for a while only is none that a
 * new claim begins with: it would be moved away again.
 */
export function untolerated(device: Tainted, alternative: Tolerant): string[] {
  const { taints, evicts = {} } = device;
  const isForAWhile = (key: string) =>
    Object.hasOwn(evicts, key) && Object.hasOwn(alternative.tolerationSeconds ?? {}, key);
  const keys = Object.keys(taints).filter((key) => isForAWhile(key) || !isTolerated(device, alternative, key));
  return keys.map((key) => textOf(device, key));
}

/** The taints by which an instance that has a device is to leave it by now (DRA's NoExecute, after `tolerationSeconds`). */
export function evictedBy(device: Tainted, alternative: Tolerant, nowMs: number): string[] {
  const keys = Object.entries(device.evicts ?? {}).filter(([key, sinceMs]) => {
    if (!isTolerated(device, alternative, key)) return true;
    const { [key]: seconds } = alternative.tolerationSeconds ?? {};
    return seconds !== undefined && sinceMs + seconds * 1_000 <= nowMs;
  });
  return keys.map(([key]) => textOf(device, key));
}

function isTolerated({ taints }: Tainted, { tolerations }: Tolerant, key: string): boolean {
  const wanted = Object.hasOwn(tolerations, key) ? tolerations[key] : undefined;
  return wanted === '*' || (wanted !== undefined && matchesSpec(taints[key] ?? '', wanted));
}

/** A taint's value as people write it, `fan` or `fan:NoExecute`, without its effect; `NoSchedule` is what it has without one. */
export function parseEffect(text: string): { readonly value: string; readonly noExecute: boolean } {
  const effect = /:(?:NoSchedule|NoExecute)$/.exec(text)?.[0] ?? '';
  return { value: text.slice(0, text.length - effect.length), noExecute: effect === NO_EXECUTE };
}

/** `worn=fan`, `worn=fan:NoExecute`. */
function textOf({ taints, evicts = {} }: Tainted, key: string): string {
  return `${key}=${taints[key]}${Object.hasOwn(evicts, key) ? NO_EXECUTE : ''}`;
}

const NO_EXECUTE = ':NoExecute';
