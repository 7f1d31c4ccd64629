import type { Consumer } from '#libs/domain/consumer';
import { type DevicesAsked, isDeviceSuffix } from '#libs/domain/devices/device-request';
import { addResources, type Resources } from '#libs/domain/inventory';
import type { PlacementView } from '#libs/placement/port/placement-view';
import { meets } from './choose-devices';
import { type CompiledAlternative, compileDevices } from './devices-asked';
import { takenOf } from './host-devices';

/**
 * Amounts of a consumer's devices, by class, if they are what the requests ask by one of their alternatives each; undefined
 * if not: they are others, too few, or gone. Taints count for new claims only.
 */
export function devicesHeld(
  { mappings }: Pick<Consumer, 'mappings'>,
  asked: DevicesAsked,
  view: Pick<PlacementView, 'provider'>,
): Resources | undefined {
  const { requests } = compileDevices(asked);
  const suffixes = Object.keys(mappings).filter(isDeviceSuffix);
  if (suffixes.length !== requests.length) return undefined;
  let held: Resources = {};
  for (const { alternatives } of requests) {
    const alternative = alternatives.find(({ suffix }) => suffixes.includes(suffix));
    const taken = alternative && takenBy(alternative, mappings[alternative.suffix] ?? [], view);
    if (!taken) return undefined;
    held = addResources(held, taken);
  }
  return held;
}

function takenBy(
  alternative: CompiledAlternative,
  uuids: readonly string[],
  view: Pick<PlacementView, 'provider'>,
): Resources | undefined {
  if (alternative.count === 'all' ? uuids.length === 0 : uuids.length !== alternative.count) return undefined;
  let sum: Resources = {};
  for (const uuid of uuids) {
    const provider = view.provider(uuid);
    const one = provider?.device && { provider, device: provider.device };
    const taken = one && meets(alternative, one) ? takenOf(one, alternative) : undefined;
    if (!taken) return undefined;
    sum = addResources(addResources(sum, taken.own), taken.ofParent);
  }
  return sum;
}
