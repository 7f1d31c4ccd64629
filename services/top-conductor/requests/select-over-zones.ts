import { giveBack } from '#libs/cells/give-back';
import type { Destination, SelectDestinationsResponse } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { groupBy } from '#libs/runtime/group-by';
import { busOfCell } from '../cells/bus-of-cell';
import type { TopConductor } from '../context';
import { reserve } from './reservations';

/** Tries while others of the group come first; then they are asked for again when they are due. */
const MAX_TRIES = 8;

/**
 * Has hosts selected for members of a group that spreads over zones, and holds their places in the zones at the top, all of them in one commit
 * that sees to it that the group stays even.
 *
 * In two phases: the cells claim hosts first, then the top counts the members. The other way round a place would count that no host is
 * found for, and others would be placed by it. When the commit says that others of the group were counted meanwhile, a scheduler that has seen
 * them is asked again: what it chooses the same is still claimed, and the rest is given back. Claims that nobody gives back, because this
 * process died, have no record and go with the audit of their cell; places without a cell on record are given up by whoever goes on.
 *
 * @param ask  a scheduler that has seen this revision of the top's store
 * @throws BerthError `aborted / group_is_uneven` when others came first each time.
 */
export async function selectOverZones(
  t: TopConductor,
  open: readonly Instance[],
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

/** Counts the members where they go, in the order in which they were chosen: each leaves the group even. */
async function holdPlaces(
  t: TopConductor,
  open: readonly Instance[],
  { destinations, zones }: SelectDestinationsResponse,
): Promise<boolean> {
  const records = new Map(open.map((record) => [record.uuid, record]));
  const places = new Map(
    destinations.map(({ instanceUuid, selected, zone }) => [instanceUuid, { name: selected.cell, zone, among: zones }]),
  );
  const ordered = destinations.flatMap(({ instanceUuid }) => records.get(instanceUuid) ?? []);
  return (await reserve(t, ordered, ({ uuid }) => places.get(uuid))).kind === 'reserved';
}

/** What was claimed in a cell for which none was selected this time: what was claimed there anew has replaced the old claim. */
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
            'what was selected goes with the audit of its cell',
          ),
        ),
    ),
  );
}
