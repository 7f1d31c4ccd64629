import type { InstanceView } from '../../contracts/instance';
import type { InstanceState } from '../../domain/instance';
import { NOWHERE_FAULTS } from '../../domain/moves/migration';

/** The next step to move an instance off its host. */
export type NextMove =
  /** It has left, and the host keeps no copy. */
  | { readonly kind: 'gone' }
  /** Start a move: live, or cold where live is impossible or the instance is stopped. */
  | { readonly kind: 'move'; readonly operation: 'live_migrate' | 'migrate' }
  /** Confirm the move, so that the host destroys its copy. */
  | { readonly kind: 'confirm' }
  /** Another operation is under way: read it again. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'stays'; readonly reason: string };

/**
 * The next step for an instance on a draining host, decided from its present state alone, so that an interrupted drain
 * continues where it was.
 *
 * @param tried  the moves that this drain has tried
 */
export function nextMove(
  host: string,
  { state, fault, migration, ...instance }: Pick<InstanceView, 'host' | 'state' | 'fault' | 'migration'>,
  tried: readonly string[],
): NextMove {
  const isKeptHere = migration?.sourceHost === host;
  if (instance.host !== host && !isKeptHere) return { kind: 'gone' };
  if (ENDED.includes(state)) return { kind: 'gone' };
  if (state === 'verify_resize' && isKeptHere) return { kind: 'confirm' };
  if (state === 'verify_resize') return stays('it was moved here, and nobody has confirmed or reverted that');
  if (state === 'unknown') return stays('its host is silent: evacuate it when the host is dead');
  // Claimed with its group: its turn has come.
  if (migration?.phase === 'claimed' && migration.kind !== 'resize') return { kind: 'move', operation: migration.kind };
  if (!AT_REST.includes(state) || migration !== undefined) return { kind: 'wait' };
  // A stopped instance moves cold, and stays stopped.
  if (tried.length === 0) return { kind: 'move', operation: state === 'stopped' ? 'migrate' : 'live_migrate' };
  const why = fault === undefined ? 'it came back' : `${fault.reason}: ${fault.message}`;
  const mayGoCold = !tried.includes('migrate') && fault !== undefined && !NOWHERE_FAULTS.includes(fault.reason);
  return mayGoCold ? { kind: 'move', operation: 'migrate' } : stays(why);
}

const AT_REST: readonly InstanceState[] = ['active', 'stopped'];
const ENDED: readonly InstanceState[] = ['shelved_offloaded', 'error', 'deleted'];

function stays(reason: string): NextMove {
  return { kind: 'stays', reason };
}
