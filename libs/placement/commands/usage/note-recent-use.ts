import type { NoteRecentUse } from '../../port/placement-store';
import { projectKey } from '../tables';
import type { Decided, Timed, Transaction } from '../transaction';

/** Writes samples over others without a look at them: each is right by itself. */
export async function noteRecentUse(tx: Transaction, { samples, forgotten }: Timed<NoteRecentUse>): Decided {
  if (samples.length + forgotten.length === 0) return { kind: 'unchanged' };
  for (const { projectId, ...row } of samples) tx.put('recent_use', projectKey(projectId), row);
  tx.write(...forgotten.map((id) => ({ kind: 'delete', table: 'recent_use', key: projectKey(id) }) as const));
  return undefined;
}
