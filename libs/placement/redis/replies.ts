import { BerthError } from '../../domain/errors';
import type { Refusal as AmountRefusal } from '../../domain/inventory';
import { asUsage } from '../commands/as-rows';
import type { Change, CommitResult, Subject } from '../store';
import { decodeCell } from './cells';

/** What became of one commit of `lua/claim.lua`, as a result. `change` is what those that were made have in common. */
export function decodeOutcome(outcome: readonly string[], change: Change | undefined): CommitResult {
  const [kind = '', a = '', b = '', c = '', d = ''] = outcome;
  switch (kind) {
    case 'committed':
      if (change === undefined) break;
      return { kind, change };
    case 'unchanged':
      return { kind };
    case 'generation':
      return { kind, subject: 'consumer', uuid: a, present: b === '' ? undefined : Number(b) };
    case 'not_found':
      return { kind, subject: a as Subject, key: b };
    case 'capacity': {
      const usage = asUsage(a, decodeCell('usage', a, d));
      return { kind, providerUuid: a, resourceClass: b, refusal: c as AmountRefusal, usage };
    }
    case 'group':
      return { kind, groupId: a, host: b };
  }
  throw new BerthError('internal', 'store_reply', `a script answered '${kind}'`);
}
