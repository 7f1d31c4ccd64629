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

/** Dependencies of choosing a cell. */
export interface SelectCellDeps {
  readonly cells: ReadonlyMap<string, KnownCell>;
  readonly random: Random;
  readonly config: { readonly maxAsked: number; readonly askTimeoutMs: number; readonly refusalMs: number };
  /** The cell of a group's members; undefined without members. */
  readonly cellOfGroup?: (projectId: string, groupId: string) => string | undefined;
  /** Zones of the members of groups that spread over zones. */
  readonly zoneMembers: Pick<ZoneMembers, 'count' | 'expect'>;
  /** Called for each cell that was asked, with its outcome. */
  readonly onAsked?: (outcome: 'selected' | 'refused' | 'unreachable') => void;
  /** Called for a claim that could not be released at once. */
  readonly onKept?: (cell: string, error: BerthError) => void;
}

/** The outcome of asking a cell. */
export type Outcome =
  | { readonly kind: 'selected'; readonly response: SelectDestinationsResponse }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** @throws BerthError of the cell about the request itself: any other cell would say the same. */
export async function askCell(
  cell: KnownCell,
  wanted: CellRequest,
  request: SelectDestinationsRequest,
  { config, onAsked }: SelectCellDeps,
): Promise<Outcome> {
  const count = request.instanceUuids.length;
  // The revision belongs to the top's store, and the zone is chosen already.
  const { cell: _only, minRevision: _seen, choosesZone: _chosen, inOneCell: _whole, ...asked } = request;
  try {
    const options = { timeoutMs: config.askTimeoutMs };
    const response = await callMethod(
      { bus: cell.link.bus, queue: RPC_SCHEDULER },
      selectDestinationsMethod,
      asked,
      options,
    );
    if (response.destinations.length > 0) {
      onAsked?.('selected');
      cell.selected(wanted.resources, response.destinations.length);
      return { kind: 'selected', response };
    }
    onAsked?.('refused');
    const says = response.noValidHost?.summary ?? '';
    const reason = response.noValidHost?.quotaExceeded.length ? 'quota_exceeded' : 'no_valid_host';
    const isOfShape = wanted.isShapeAlone && !request.furtherKinds && reason === 'no_valid_host';
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
