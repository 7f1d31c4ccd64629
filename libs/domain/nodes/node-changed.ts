import { BerthError } from '../errors';

/** An order rests on a node as it is not any more. */
export function nodeChanged(host: string): BerthError {
  const message = `node ${host} has changed since it was looked at: look again, and order it again`;
  return new BerthError('failed_precondition', 'node_changed', message);
}
