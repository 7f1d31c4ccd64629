import { castTyped } from '#libs/bus/typed-calls';
import { terminateInstanceCodec } from '#libs/contracts/conductor';
import { BUILD_REQUESTS } from '#libs/contracts/queues';
import type { Instance } from '#libs/domain/instance';
import type { TopConductor } from '../context';
import { busOfCell } from './bus-of-cell';

/** Tells a cell that an instance is to end. @throws BerthError `unavailable`. */
export async function endInCell(t: TopConductor, { uuid, projectId, cell }: Instance): Promise<void> {
  if (cell === undefined) return;
  await castTyped(busOfCell(t, cell.name), BUILD_REQUESTS, terminateInstanceCodec, { instanceUuid: uuid, projectId });
}
