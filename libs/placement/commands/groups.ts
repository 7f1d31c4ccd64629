import { isDeepStrictEqual } from 'node:util';
import { MAX_GROUPS_PER_PROJECT, storedGroupKey } from '../../domain/server-group';
import type { GroupCommand } from '../port/placement-store';
import { counters } from './tables';
import type { Decided, Timed, Transaction } from './transaction';

type Change<K extends GroupCommand['kind']> = Timed<Extract<GroupCommand, { kind: K }>>;

/** Adds a project's server group. Again, just so, changes nothing. */
export async function createGroup(tx: Transaction, command: Change<'create_group'>): Decided {
  const { projectId, name, policy, maxPerHost, spread, within, metadata, atMs } = command;
  const group = { projectId, name, policy, maxPerHost, metadata, ...(spread && { spread }), ...(within && { within }) };
  const key = storedGroupKey(projectId, name);
  const present = await tx.get('server_group', key);
  if (present) {
    const isSame = isDeepStrictEqual(present, { ...group, createdAtMs: present.createdAtMs });
    return isSame ? { kind: 'unchanged' } : { kind: 'exists', subject: 'server_group', key: name };
  }
  const count = await tx.count(counters.groupsOf(projectId));
  if (count >= MAX_GROUPS_PER_PROJECT) return { kind: 'full', subject: 'server_group', most: MAX_GROUPS_PER_PROJECT };
  tx.put('server_group', key, { ...group, createdAtMs: atMs });
  tx.write({ kind: 'count', name: counters.groupsOf(projectId), by: 1 });
  return undefined;
}

/** Deletes a group; its members stay where they are, and keep to nothing any more. */
export async function deleteGroup(tx: Transaction, { projectId, name }: Change<'delete_group'>): Decided {
  const key = storedGroupKey(projectId, name);
  if (!(await tx.get('server_group', key))) return { kind: 'not_found', subject: 'server_group', key: name };
  tx.write({ kind: 'delete', table: 'server_group', key });
  tx.write({ kind: 'count', name: counters.groupsOf(projectId), by: -1 });
  return undefined;
}
