import { drop, type IncomingMessage, type Settlement } from '#libs/bus/port';
import type { Codec } from '#libs/contracts/rpc';
import { BerthError } from '#libs/domain/errors';

/** What can't be read is nobody's work. */
export async function handle<T>(
  message: IncomingMessage,
  codec: Codec<T>,
  take: (value: T) => Promise<Settlement>,
): Promise<Settlement> {
  let value: T;
  try {
    value = codec.decode(message.body);
  } catch (thrown) {
    return drop(BerthError.from(thrown));
  }
  return take(value);
}
