import { BerthError } from '#libs/domain/errors';
import type { NodeController } from '../drivers/baremetal/node-controller';

/**
 * A controller that tells, whatever is asked of it, when it answers that another has claimed the node under a later epoch. A store
 * that went back may not know of that one, and would have the holder hold the node for as long as it reports it, though nothing that
 * it orders is taken.
 */
export function noticeOthers(controller: NodeController, onOther: (error: BerthError) => void): NodeController {
  async function noticing<T>(asked: Promise<T>): Promise<T> {
    try {
      return await asked;
    } catch (thrown) {
      const error = BerthError.from(thrown);
      if (error.reason === 'epoch_superseded') onOther(error);
      throw thrown;
    }
  }
  return {
    claim: (epoch) => noticing(controller.claim(epoch)),
    status: () => noticing(controller.status()),
    setPower: (order) => noticing(controller.setPower(order)),
    setBootDevice: (device, isOnce) => noticing(controller.setBootDevice(device, isOnce)),
    close: () => controller.close(),
  };
}
