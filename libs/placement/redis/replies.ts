import { BerthError } from '../../domain/errors';
import type { Refusal as AmountRefusal } from '../../domain/inventory';
import { asUsage } from '../commands/as-rows';
import type { Refusal } from '../commands/tables';
import type { Subject } from '../store';
import { decodeCell } from './cells';

/** What `lua/claim.lua` says of a commit that was not made: which one, from 1, then why. */
export type RefusalReply = readonly [i: number, kind: string, ...details: string[]];

/** Why a commit was not made. */
export function decodeRefusal([, kind, a = '', b = '', c = '', d = '']: RefusalReply): Refusal {
  switch (kind) {
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
