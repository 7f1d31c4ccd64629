import { BerthError } from '../../domain/errors';
import type { Refusal as AmountRefusal } from '../../domain/inventory';
import { asUsage } from '../commands/as-rows';
import type { CommitResult, Subject } from '../store';
import { decodeCell } from './cells';
import { decodeChange } from './rows';

/** What a script answers, as a result; `conflict` when the transaction must be decided again. */
export function decodeReply(reply: unknown): CommitResult | { readonly kind: 'conflict' } {
  const [kind = '', a = '', b = '', c = '', d = ''] = reply as string[];
  switch (kind) {
    case 'committed':
      return { kind, change: decodeChange(Number(a), b) };
    case 'unchanged':
    case 'conflict':
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
    default:
      throw new BerthError('internal', 'store_reply', `a script answered ${kind}`);
  }
}
