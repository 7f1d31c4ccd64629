import type { Provisioning } from './node-controller';
import { bootOnce, type NodeWorkParts, patiently, powerOff } from './node-work';

/** Provisioning by boots over the network: an image writes the instance, another removes the traces. */
export function bootProvisioning(work: NodeWorkParts, cleans: boolean): Provisioning {
  const { controller } = work;
  return {
    async deploy(_, signal) {
      await bootOnce(work, 'Pxe', signal);
      await patiently(work, signal, () => controller.setBootDevice('Hdd', false));
    },
    undeploy: (_, signal) => powerOff(work, signal),
    async clean(signal) {
      if (cleans) await bootOnce(work, 'Utilities', signal);
      await powerOff(work, signal);
    },
  };
}
