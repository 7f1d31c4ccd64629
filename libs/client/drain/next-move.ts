import type { InstanceView } from '../../contracts/messages';
import type { InstanceState } from '../../domain/instance';

/** What is to be done with an instance, to have it leave its host. */
export type NextMove =
  /** It has left, with what was kept for it. */
  | { readonly kind: 'gone' }
  /** By a move that is not under way yet: live, or cold where that can't be, or where it does not run. */
  | { readonly kind: 'move'; readonly operation: 'live_migrate' | 'migrate' }
  /** What was kept for it on the host is to go. */
  | { readonly kind: 'confirm' }
  /** Something else is under way: look again. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'stays'; readonly reason: string };

/** Faults of a live migration that a cold one would have as well: there is no host for it. */
const NOWHERE: readonly string[] = ['no_valid_host', 'quota_exceeded', 'moves_unsupported'];

/**
 * What to do next about an instance of a host that is drained: decided anew from what is seen, so that a drain which was
 * interrupted goes on where it was.
 *
 * @param tried  the moves that this drain has made of it
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
  // Claimed with the rest of its group: it is its turn.
  if (migration?.phase === 'claimed' && migration.kind !== 'resize') return { kind: 'move', operation: migration.kind };
  if (!AT_REST.includes(state) || migration !== undefined) return { kind: 'wait' };
  // What is stopped goes cold, and stays stopped.
  if (tried.length === 0) return { kind: 'move', operation: state === 'stopped' ? 'migrate' : 'live_migrate' };
  const why = fault === undefined ? 'it came back' : `${fault.reason}: ${fault.message}`;
  const mayGoCold = !tried.includes('migrate') && fault !== undefined && !NOWHERE.includes(fault.reason);
  return mayGoCold ? { kind: 'move', operation: 'migrate' } : stays(why);
}

const AT_REST: readonly InstanceState[] = ['active', 'stopped'];
const ENDED: readonly InstanceState[] = ['shelved_offloaded', 'error', 'deleted'];

function stays(reason: string): NextMove {
  return { kind: 'stays', reason };
}
