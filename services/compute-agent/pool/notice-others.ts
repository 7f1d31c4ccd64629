import { BerthError } from '#libs/domain/errors';
import type { NodeController } from '../drivers/baremetal/node-controller';

/**
 * A controller that calls back whenever it refuses because another agent has claimed the node under a later epoch. A
 * store restored to an earlier state may not know that agent. It would let the present holder keep the node as long as
 * it reports, while the controller refuses all its orders.
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
    ...(controller.service && { service: controller.service }),
    claim: (epoch, terms) => noticing(controller.claim(epoch, terms)),
    status: () => noticing(controller.status()),
    setPower: (order) => noticing(controller.setPower(order)),
    setBootDevice: (device, isOnce) => noticing(controller.setBootDevice(device, isOnce)),
    close: () => controller.close(),
  };
}
