import { berth } from '#generated/berth';
import { name, pairs, text, uuid, whole } from './checks';
import { type Codec, codec } from './codec';
import { errorFromWire, errorToWire } from './error';
import type { OperatorAction } from './messages';

/** As an event: an operator acted by the console, or was refused. */
export const operatorActionCodec: Codec<OperatorAction> = codec(
  'berth.console.v1.OperatorAction',
  berth.console.v1.OperatorAction,
  ({ error, ...action }) => ({ ...action, error: error === undefined ? null : errorToWire(error) }),
  ({ id, action, target, userId, projectId, atMs, error, details }) => ({
    id: uuid(id, 'id'),
    action: name(action, 'action'),
    target: text(target, 'target'),
    userId: text(userId, 'user_id'),
    projectId: text(projectId, 'project_id'),
    atMs: whole(atMs, 'at_ms'),
    error: error ? errorFromWire(error) : undefined,
    details: pairs(details, 'details', (value: string, field) => text(value, field)),
  }),
);
