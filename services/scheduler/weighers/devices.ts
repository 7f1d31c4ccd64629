import { firstMet } from '../devices/device-refusal';
import { compileDevices } from '../devices/devices-asked';
import type { ClassWeigher } from './weigher';

/**
 * devices: prefers hosts that give the better alternatives of the requests for devices ("an H100, or else two A100").
 *
 * `BERTH_SCHEDULER_WEIGHT_DEVICES`, 8 by default. Raw: how many alternatives come after the first one that the host has
 * devices for, over all requests.
 */
export const devicesWeigher: ClassWeigher = {
  kind: 'class',
  name: 'devices',
  prepare(asked) {
    const requests = asked.deviceRequests.length === 0 ? [] : compileDevices(asked).requests;
    const choices = requests.filter(({ alternatives }) => alternatives.length > 1);
    if (choices.length === 0) return undefined;
    return {
      lower: 0,
      upper: choices.reduce((sum, { alternatives }) => sum + alternatives.length - 1, 0),
      raw({ providers, root }) {
        if (!providers) return 0;
        return choices.reduce(
          (sum, one) => sum + Math.max(0, one.alternatives.length - 1 - firstMet(one, providers, root.uuid)),
          0,
        );
      },
    };
  },
};
