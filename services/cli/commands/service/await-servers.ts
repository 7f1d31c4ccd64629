import { openBus } from '#libs/bus/open';
import { BerthError } from '#libs/domain/errors';
import { readForm } from '#libs/redis/schema';
import { retryWithBackoff } from '#libs/runtime/backoff';
import { hideSecret } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import type { Context } from '../../context';
import { untilInterrupted } from '../../interruptible';

export interface Servers {
  readonly busUrl: string;
  readonly storeUrl: string;
  readonly cell: string;
  /** Time limit of each server's first answer. */
  readonly connectTimeoutMs: number;
  readonly storeTimeoutMs: number;
}

const SILENT_MS = 1_000;
const RETRY = { firstMs: 50, maxMs: 500 };

/**
 * Resolves once the broker and the store answer; both may start meanwhile.
 *
 * @throws BerthError `unavailable / broker_unreachable` or `/ store_away` after `connectTimeoutMs`, with the addresses of
 *   all that are away; `permission_denied` for a refused login, which is not retried; `aborted / interrupted`.
 */
export async function awaitServers(context: Context, servers: Servers): Promise<void> {
  const { clock, terminal } = context;
  const limit = `${servers.connectTimeoutMs / 1_000} s at most`;
  const [broker, store] = [hideSecret(servers.busUrl), hideSecret(servers.storeUrl)];
  const cancelNote = clock.after(SILENT_MS, () =>
    terminal.note(`waiting for the broker at ${broker} and the store at ${store}, ${limit} ...`),
  );
  const gone = new AbortController();
  try {
    const answers = Promise.allSettled([
      brokerAnswers(context, servers),
      storeAnswers(context, servers, store, gone.signal),
    ]);
    const results = await untilInterrupted(context, answers);
    const [first, ...others] = results.flatMap((one) =>
      one.status === 'rejected' ? [BerthError.from(one.reason)] : [],
    );
    if (first === undefined) return;
    const messages = [first, ...others].map(({ message }) => message).join('; and ');
    throw new BerthError(first.code, first.reason, messages, {
      cause: first,
      details: { hint: 'nothing was started' },
    });
  } finally {
    cancelNote();
    gone.abort();
  }
}

async function brokerAnswers({ clock, random }: Context, { busUrl, cell, connectTimeoutMs }: Servers): Promise<void> {
  const around = { clock, random, log: silentLog, metrics: createMetrics({}) };
  const bus = await openBus({ busUrl, cell, connectTimeoutMs }, around);
  await bus.close();
}

async function storeAnswers(
  { clock, random }: Context,
  servers: Servers,
  shown: string,
  signal: AbortSignal,
): Promise<void> {
  const late = new AbortController();
  const timeoutMs = servers.connectTimeoutMs;
  const cancel = clock.after(timeoutMs, () => late.abort());
  const either = AbortSignal.any([signal, late.signal]);
  try {
    await retryWithBackoff(() => readForm(servers, { log: silentLog, random }, either), {
      ...RETRY,
      clock,
      random,
      signal: either,
      isRetryable: (error) => BerthError.from(error).code === 'unavailable',
      onFailure: () => {},
    });
  } catch (thrown) {
    if (!late.signal.aborted) throw thrown;
    const why = BerthError.from(thrown).message;
    const message = `no Redis at ${shown} within ${timeoutMs} ms (${why}); start it, or set BERTH_STORE_URL`;
    throw new BerthError('unavailable', 'store_away', message, { cause: thrown });
  } finally {
    cancel();
  }
}
