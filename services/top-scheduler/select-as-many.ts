import { giveBack } from '#libs/cells/give-back';
import type { Destination, SelectDestinationsRequest } from '#libs/contracts/selection';
import type { CellRequest } from '#libs/domain/cells/rank-cells';
import { BerthError } from '#libs/domain/errors';
import { askCell, type SelectCellDeps } from './ask-cell';
import type { Refusal } from './diagnosis-of-cells';
import type { KnownCell } from './known-cell';

/** The cells' selections for some of a request's instances, and the refusals for the others. */
interface SelectedInParts {
  readonly selected: ReadonlyMap<KnownCell, readonly Destination[]>;
  readonly count: number;
  readonly refusals: readonly Refusal[];
}

/** Each cell, best first, selects as many of the rest as it can, until there are enough or `maxAsked` were asked. */
export async function selectAsMany(
  ranked: readonly string[],
  wanted: CellRequest,
  request: SelectDestinationsRequest,
  deps: SelectCellDeps,
): Promise<SelectedInParts> {
  const selected = new Map<KnownCell, readonly Destination[]>();
  const refusals: Refusal[] = [];
  let rest = request.instanceUuids;
  for (const name of ranked.slice(0, deps.config.maxAsked)) {
    const cell = deps.cells.get(name);
    if (cell === undefined || rest.length === 0) continue;
    const outcome = await askCell(cell, wanted, { ...request, instanceUuids: rest, minCount: 1 }, deps);
    if (outcome.kind === 'refused') {
      refusals.push(outcome.refusal);
      continue;
    }
    const { destinations } = outcome.response;
    selected.set(cell, destinations);
    const taken = new Set(destinations.map(({ instanceUuid }) => instanceUuid));
    rest = rest.filter((uuid) => !taken.has(uuid));
  }
  return { selected, count: request.instanceUuids.length - rest.length, refusals };
}

/**
 * Releases a cell's selection. If the cell does not get the message, the claim has no record: its audit releases it.
 */
export async function giveBackTo(
  cell: KnownCell,
  destinations: readonly Destination[],
  { resources }: CellRequest,
  { onKept }: SelectCellDeps,
): Promise<void> {
  cell.selected(resources, -destinations.length);
  await Promise.resolve()
    .then(() => giveBack(cell.link.bus, destinations))
    .catch((thrown: unknown) => onKept?.(cell.name, BerthError.from(thrown)));
}
