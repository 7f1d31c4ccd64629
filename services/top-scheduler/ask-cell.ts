import { callMethod } from '#libs/bus/typed-calls';
import { RPC_SCHEDULER } from '#libs/contracts/queues';
import {
  type SelectDestinationsRequest,
  type SelectDestinationsResponse,
  selectDestinationsMethod,
} from '#libs/contracts/selection';
import type { CellRequest } from '#libs/domain/cells/rank-cells';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import type { Refusal } from './diagnosis-of-cells';
import type { KnownCell } from './known-cell';
import type { ZoneMembers } from './zone-members';

/** What choosing a cell takes. */
export interface SelectCellDeps {
  readonly cells: ReadonlyMap<string, KnownCell>;
  readonly random: Random;
  readonly config: { readonly maxAsked: number; readonly askTimeoutMs: number; readonly refusalMs: number };
  /** The cell that members of a group are in; undefined when there are none. */
  readonly cellOfGroup?: (projectId: string, groupId: string) => string | undefined;
  /** Where members of groups are that spread over zones. */
  readonly zoneMembers: Pick<ZoneMembers, 'count' | 'expect'>;
  /** Told of each cell that was asked: whether it took the request. */
  readonly onAsked?: (outcome: 'selected' | 'refused' | 'unreachable') => void;
  /** Told what could not be given back at once. */
  readonly onKept?: (cell: string, error: BerthError) => void;
}

/** What came of asking a cell. */
export type Outcome =
  | { readonly kind: 'selected'; readonly response: SelectDestinationsResponse }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** @throws BerthError what the cell says of the request itself: no other cell would say otherwise. */
export async function askCell(
  cell: KnownCell,
  wanted: CellRequest,
  request: SelectDestinationsRequest,
  { config, onAsked }: SelectCellDeps,
): Promise<Outcome> {
  const count = request.instanceUuids.length;
  // What it must have seen was of the top's store, and the zone is chosen by now.
  const { cell: _only, minRevision: _seen, choosesZone: _chosen, ...asked } = request;
  try {
    const options = { timeoutMs: config.askTimeoutMs };
    const response = await callMethod(cell.link.bus, RPC_SCHEDULER, selectDestinationsMethod, asked, options);
    if (response.destinations.length > 0) {
      onAsked?.('selected');
      cell.selected(wanted.resources, response.destinations.length);
      return { kind: 'selected', response };
    }
    onAsked?.('refused');
    const says = response.noValidHost?.summary ?? '';
    const reason = response.noValidHost?.quotaExceeded.length ? 'quota_exceeded' : 'no_valid_host';
    const isOfShape = wanted.isShapeAlone && reason === 'no_valid_host';
    cell.refused(isOfShape ? wanted.shape : undefined, request.minCount || count, config.refusalMs);
    return { kind: 'refused', refusal: { cell: cell.name, filter: 'asked', reason, says } };
  } catch (thrown) {
    const error = BerthError.from(thrown);
    if (!SAYS_NOTHING_OF_THE_REQUEST.includes(error.code)) throw error;
    onAsked?.('unreachable');
    cell.failed(error);
    return { kind: 'refused', refusal: { cell: cell.name, filter: 'reachable', reason: error.reason } };
  }
}

const SAYS_NOTHING_OF_THE_REQUEST: readonly BerthError['code'][] = [
  'unavailable',
  'deadline_exceeded',
  'resource_exhausted',
  'aborted',
  'internal',
  'permission_denied',
];
