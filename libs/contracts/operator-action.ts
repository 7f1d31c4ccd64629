import { berth } from '#generated/berth';
import { name, text, uuid, whole } from './checks';
import { errorCodec } from './error';
import { map, orUndefined } from './fields';
import { message, type PlainOf } from './message';
import { FEW, ofServices } from './message-rules';

/** Event: an operator acted by the console, or was refused for `error`. */
export const operatorActionCodec = message(
  berth.console.v1.OperatorAction,
  {
    id: uuid,
    action: name,
    target: text,
    userId: text,
    projectId: text,
    atMs: whole,
    error: orUndefined(errorCodec),
    details: map(text),
  },
  { rule: ofServices(FEW) },
);
export type OperatorAction = PlainOf<typeof operatorActionCodec>;
