import { BerthError } from '#libs/domain/errors';
import type { JsonAnswer } from '#libs/runtime/fetch-json';
import type { Endpoint } from './endpoint';

/** The result of one write: how many requests changed something, and the answer that refused it. */
export interface Written {
  readonly writes: number;
  readonly refused?: JsonAnswer;
}

interface Write {
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly minor?: number;
}

/** Sends one write at the newest microversion of the destination. */
export async function request(
  to: Endpoint,
  { minor = to.minor, ...write }: Write,
): Promise<Written & { readonly answer: JsonAnswer }> {
  const answer = await to.send({ ...write, minor });
  if (answer.status < 300) return { writes: 1, answer };
  if (answer.status < 400) throw new BerthError('unavailable', 'not_placement', `${to.url} answered ${answer.status}`);
  return { writes: 0, answer, refused: answer };
}
