import { castTyped } from '#libs/bus/typed-calls';
import { terminateInstanceCodec } from '#libs/contracts/conductor';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import type { InstanceRow } from '#libs/domain/instance';
import type { TopConductor } from '../context';
import { busOfCell } from './bus-of-cell';

/** Orders an instance's cell to end it. @throws BerthError `unavailable`. */
export async function endInCell(t: TopConductor, record: InstanceRow): Promise<void> {
  if (record.cell) await endIn(t, record.cell.name, record);
}

/** Orders any cell to end an instance. @throws BerthError `unavailable`. */
export async function endIn(
  t: TopConductor,
  cell: string,
  { uuid: instanceUuid, projectId }: InstanceRow,
): Promise<void> {
  await castTyped({ bus: busOfCell(t, cell), queue: BUILD_REQUESTS }, terminateInstanceCodec, {
    instanceUuid,
    projectId,
  });
}
