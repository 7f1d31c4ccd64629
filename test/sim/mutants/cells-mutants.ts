import * as queues from '#libs/contracts/cells';
import * as groups from '#libs/domain/server-group';
import * as doubts from '../../../services/top-conductor/cells/doubts';
import * as ending from '../../../services/top-conductor/cells/end-in-cell';
import * as moving from '../../../services/top-conductor/moves/drive-move';
import * as news from '../../../services/top-conductor/moves/take-news';
import { changeRecord } from '../../../services/top-conductor/records';
import * as reservations from '../../../services/top-conductor/requests/reservations';
import * as requests from '../../../services/top-conductor/requests/take-requests';
import { inWorld, type Mutant, mutant, mutants } from './mutant';

/** Mutants of the rules that keep cells apart, and the top's records true. */
export const CELLS_MUTANTS: readonly Mutant[] = [
  inWorld(
    'cells',
    mutants(
      'cells-share-queues',
      'names of queues of a cell',
      mutant('', '', queues, 'queueInCell', () => (_cell, spec) => spec),
      mutant('', '', queues, 'addressInCell', () => (_cell, address) => address),
    ),
  ),
  inWorld(
    'cells',
    mutant('next-cell-unasked', 'waiting for a cell that may have a build', doubts, 'forgottenBy', () => {
      return async (t, { uuid }) => {
        const dueAtMs = t.clock.now();
        await changeRecord(t, uuid, ({ state }) => {
          return state === 'deleting' ? undefined : { state: 'scheduling', cell: undefined, host: undefined, dueAtMs };
        });
      };
    }),
    'cell unreachable',
    'build many',
  ),
  inWorld(
    'cells',
    mutant('forgotten-is-deleted', 'the doubt about what a cell forgot', doubts, 'forgottenBy', () => {
      return async (t, { uuid }) => {
        await changeRecord(t, uuid, ({ cell }) => {
          return cell?.isHandedOver && !cell.move ? { state: 'deleted', dueAtMs: undefined } : undefined;
        });
      };
    }),
    'store goes back',
    'store is wiped',
  ),
  inWorld(
    'cells',
    mutant('quotas-not-reserved', 'the first phase of quotas', reservations, 'reserve', () => async () => {
      return { kind: 'reserved' };
    }),
  ),
  inWorld(
    'cells',
    mutants(
      'quotas-not-given-back',
      'the second phase of quotas',
      mutant('', '', reservations, 'release', () => async () => {}),
      mutant('', '', reservations, 'settleReservations', () => async () => {}),
    ),
  ),
  inWorld(
    'cells',
    mutant('groups-of-any-cell', 'the one cell of an affinity group', groups, 'isOfOneCell', () => () => false),
    'begin a group',
    'build in a group',
  ),
  inWorld(
    'cells',
    mutant('cells-not-told', 'telling a cell what is to end', ending, 'endInCell', () => async () => {}),
  ),
  inWorld(
    'cells',
    mutant('moved-stays-behind', 'ending what was moved where it was', moving, 'settleLeft', () => async () => {}),
    'move to a cell',
  ),
  inWorld(
    'cells',
    mutant('moved-keeps-zone', 'the zone that a member has moved to', news, 'arrived', (original) => {
      return (t, cell, move, told) => original(t, cell, { ...move, zone: cell.zone }, told);
    }),
    'build over zones',
    'move over zones',
  ),
  inWorld(
    'cells',
    mutant(
      'refused-goes-round',
      'the end of a request that can never be done',
      requests,
      'retryOptions',
      (original) => {
        return (t) => ({ ...original(t), isRetryable: () => true });
      },
    ),
    "name what is others'",
  ),
];
