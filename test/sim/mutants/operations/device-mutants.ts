import * as deviceTaints from '#libs/domain/devices/taints';
import * as selectors from '../../../../libs/devices/selector';
import * as leaving from '../../../../services/conductor/triggers/devices/device-taints';
import { type Mutant, mutant, withFocus } from '../mutant';

export const DEVICE_MUTANTS: readonly Mutant[] = [
  withFocus(
    mutant('device-taints-ignored', 'that a device may be tainted', deviceTaints, 'untolerated', () => () => []),
    'device wears',
    'build with a device',
  ),
  withFocus(
    mutant(
      'nobody-leaves-devices',
      'moving instances off devices that are to be left',
      leaving,
      'moveOffTainted',
      () => {
        return async () => {};
      },
    ),
    'device is left',
  ),
  withFocus(
    mutant(
      'leaves-at-once',
      'that a toleration may last for some seconds, or for good',
      deviceTaints,
      'evictedBy',
      (original) => {
        return (device, alternative, nowMs) => original(device, { ...alternative, tolerations: {} }, nowMs);
      },
    ),
    'device is left',
  ),
  withFocus(
    mutant('selectors-ignored', 'the conditions on devices', selectors, 'parseSelectors', () => () => []),
    'build with a device',
  ),
];
