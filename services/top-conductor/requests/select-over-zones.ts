import { giveBack } from '#libs/cells/give-back';
import type { Destination, SelectDestinationsResponse } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import type { InstanceRow } from '#libs/domain/instance';
import { groupBy } from '#libs/runtime/group-by';
import { busOfCell } from '../cells/bus-of-cell';
import type { TopConductor } from '../context';
import { reserve } from './reservations';

/** Limit of the tries while others of the group come first; afterwards they are retried when due. */
const MAX_TRIES = 8;

/**
 * Selects hosts for members of a group that spreads over zones, and reserves their places in the zones at the top, all
 * in one commit that keeps the group even.
 *
 * In two phases: the cells claim hosts first, then the top counts the members. The other way round a place without a
 * host would count, and affect the placement of others. When the commit shows that others of the group were counted
 * meanwhile, a scheduler that has seen them is asked again: its equal choices are still claimed, and the rest is
 * released. After a crash of this process the audit of a cell releases claims without a record; the next conductor
 * releases places without a recorded cell.
 *
 * @param ask  a scheduler that has seen this revision of the top's store
 * @throws BerthError `aborted / group_is_uneven` when others came first each time.
 */
export async function selectOverZones(
  t: TopConductor,
  open: readonly InstanceRow[],
  ask: (minRevision: number) => Promise<SelectDestinationsResponse>,
): Promise<SelectDestinationsResponse> {
  let claimed: readonly Destination[] = [];
  let minRevision = 0;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const response = await ask(minRevision);
    const { destinations } = response;
    await giveBackAll(t, without(claimed, destinations));
    claimed = destinations;
    if (destinations.length === 0 || (await holdPlaces(t, open, response))) return response;
    minRevision = await t.placement.revision();
  }
  await giveBackAll(t, claimed);
  throw new BerthError('aborted', 'group_is_uneven', 'others of its group came first each time: asks again');
}

/** Counts the members in their zones, in the order of selection: each leaves the group even. */
async function holdPlaces(
  t: TopConductor,
  open: readonly InstanceRow[],
  { destinations, zones }: SelectDestinationsResponse,
): Promise<boolean> {
  const records = new Map(open.map((record) => [record.uuid, record]));
  const places = new Map(
    destinations.map(({ instanceUuid, selected, zone }) => [instanceUuid, { name: selected.cell, zone, among: zones }]),
  );
  const ordered = destinations.flatMap(({ instanceUuid }) => records.get(instanceUuid) ?? []);
  return (await reserve(t, ordered, ({ uuid }) => places.get(uuid))).kind === 'reserved';
}

/**
 * Former claims in cells that were not selected this time; in a selected cell the new claim has replaced the old one.
 */
function without(claimed: readonly Destination[], selected: readonly Destination[]): readonly Destination[] {
  const cellOf = new Map(selected.map((one) => [one.instanceUuid, one.selected.cell]));
  return claimed.filter((one) => cellOf.get(one.instanceUuid) !== one.selected.cell);
}

async function giveBackAll(t: TopConductor, destinations: readonly Destination[]): Promise<void> {
  const byCell = groupBy(destinations, ({ selected }) => selected.cell);
  await Promise.all(
    [...byCell].map(([cell, its]) =>
      Promise.resolve()
        .then(() => giveBack(busOfCell(t, cell), its, t.stopping))
        .catch((err: unknown) =>
          t.log.warn(
            { event: 'claims_not_given_back', err, of_cell: cell },
            'claims not released: the audit of their cell releases them',
          ),
        ),
    ),
  );
}
