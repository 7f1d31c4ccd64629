import { castTyped } from '#libs/bus/typed-calls';
import { terminateInstanceCodec } from '#libs/contracts/conductor';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import type { Instance } from '#libs/domain/instance';
import type { TopConductor } from '../context';
import { busOfCell } from './bus-of-cell';

/** Orders an instance's cell to end it. @throws BerthError `unavailable`. */
export async function endInCell(t: TopConductor, record: Instance): Promise<void> {
  if (record.cell) await endIn(t, record.cell.name, record);
}

/** Orders any cell to end an instance. @throws BerthError `unavailable`. */
export async function endIn(t: TopConductor, cell: string, { uuid: instanceUuid, projectId }: Instance): Promise<void> {
  await castTyped({ bus: busOfCell(t, cell), queue: BUILD_REQUESTS }, terminateInstanceCodec, {
    instanceUuid,
    projectId,
  });
}
