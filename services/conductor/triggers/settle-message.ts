import { settleRefused } from '#libs/bus/answer-client';
import { type HoldRetry, holdMessage, isForNow } from '#libs/bus/hold-message';
import { drop, type IncomingMessage, type Settlement } from '#libs/bus/port';
import { nameOf } from '#libs/contracts/identity';
import { BerthError } from '#libs/domain/errors';
import type { Conductor } from '../conductor';

const BACKOFF = { firstMs: 50, maxMs: 5_000 };

/** Settles a message by doing its work to the end; dropped when it can never be done. */
export async function settleMessage(
  c: Conductor,
  message: IncomingMessage,
  work: (isRepeated: boolean) => Promise<Settlement | void>,
): Promise<Settlement> {
  try {
    return await holdMessage(c, message, work);
  } catch (thrown) {
    const error = BerthError.from(thrown);
    noteRefused(c, message, error);
    return drop(error);
  }
}

/** Tells the client of a request that it is refused, and settles its message. */
export function refuseRequest(c: Conductor, message: IncomingMessage, error: BerthError): Promise<Settlement> {
  noteRefused(c, message, error);
  return settleRefused(c.bus, message, error);
}

function noteRefused(
  { measured, refusals }: Conductor,
  { id, type, identity }: IncomingMessage,
  error: BerthError,
): void {
  measured.refused.inc({ reason: error.reason });
  const fields = { event: 'message_refused', err: error, message_id: id, message_type: type };
  refusals.warn(nameOf(identity), fields, 'message refused');
}

/** Retries of work while something is unavailable. */
export function retryOptions({ clock, random, log, measured, stopping }: Omit<Conductor, 'retry'>): HoldRetry {
  return {
    ...BACKOFF,
    clock,
    random,
    signal: stopping,
    isRetryable: (thrown) => isForNow(BerthError.from(thrown)),
    onFailure: (thrown, pauseMs) => {
      const error = BerthError.from(thrown);
      measured.waits.inc({ reason: error.reason });
      log.warn({ event: 'unavailable_retrying', err: error, pause_ms: pauseMs }, `${error.reason}, retrying`);
    },
  };
}
