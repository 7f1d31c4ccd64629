import * as hostDevices from '../../../../services/scheduler/devices/host-devices';
import * as selectors from '../../../../services/scheduler/devices/selector';
import { type Mutant, mutant, withFocus } from '../mutant';

export const DEVICE_MUTANTS: readonly Mutant[] = [
  withFocus(
    mutant('device-taints-ignored', 'that a device may be tainted', hostDevices, 'untolerated', () => () => []),
    'device wears',
    'build with a device',
  ),
  withFocus(
    mutant('selectors-ignored', 'the conditions on devices', selectors, 'parseSelectors', () => () => []),
    'build with a device',
  ),
];
