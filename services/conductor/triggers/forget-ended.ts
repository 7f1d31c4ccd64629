import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type Attempt, attemptNumber, type Instance } from '#libs/domain/instance';
import { isKept } from '#libs/instances/store';
import type { Conductor } from '../conductor';
import { keptAfterLoss, readLostWrites } from '../lost-writes';
import { orderDestroy } from '../steps/orders';

/** The store does nothing else meanwhile: about a millisecond. */
const FORGET_BATCH = 25;
/** Between two batches the store is left alone for so many times what the first took. */
const FORGET_PAUSE = 4;

/** Attempts that were given up without the word of their host. */
const WITHOUT_WORD: readonly Attempt['outcome'][] = ['evacuated', 'timed_out', 'rolled_back', 'moved', 'reverted'];

/** Forgets what ended before a time, whose hosts were told; after a loss only what was created since. Answers how many. */
export async function forgetEnded(c: Conductor, beforeMs: number): Promise<number> {
  const kept = keptAfterLoss(await readLostWrites(c), c.config.retentionMs);
  for (let forgotten = 0; ; ) {
    const startedAtMs = c.clock.elapsed();
    const batch = await c.instances.forget(beforeMs, FORGET_BATCH, kept);
    forgotten += batch;
    if (batch < FORGET_BATCH || c.stopping.aborted) return forgotten;
    await sleep(c.clock, FORGET_PAUSE * (c.clock.elapsed() - startedAtMs), c.stopping);
  }
}

/**
 * Orders dead hosts once more to destroy what they may come back with, before its record is forgotten: hosts that the record
 * names, and those of attempts given up without their word. The first order may be lost with its conductor, and without the
 * record no report leads to another. A deleted host that comes back finds the order in its queue, if that was left; a host
 * that came back meanwhile has shown what it runs. A record from before a loss does not know of later attempts on its host:
 * these go by all claims from before the loss.
 */
export async function destroyBeforeForgetting(c: Conductor, records: readonly Instance[], beforeMs: number) {
  const ended = records.filter(({ state, updatedAtMs }) => {
    return (state === 'error' || state === 'deleted') && updatedAtMs < beforeMs;
  });
  if (ended.length === 0) return;
  const lost = await readLostWrites(c);
  const kept = keptAfterLoss(lost, c.config.retentionMs);
  const left = ended
    .filter((record) => !isKept(record, beforeMs, kept))
    .flatMap((record) => Array.from(leftOn(record), ([host, attempt]) => ({ record, host, attempt })));
  if (left.length === 0) return;
  const hosts = await c.placement.hosts([...new Set(left.map(({ host }) => host))]);
  const alive = new Set(hosts.filter(({ up }) => up).map(({ name }) => name));
  for (const { record, host, attempt } of left.filter((one) => !alive.has(one.host))) {
    await orderDestroyed(c, record, { host, attempt, claimToken: 0 });
    const mayBeLater = record.state === 'deleted' && record.createdAtMs <= lost.upToMs;
    if (mayBeLater) await orderDestroyed(c, record, { host, attempt: 0, claimToken: lost.beforeToken - 1 });
  }
}

/**
 * Orders a host that is to be deleted to destroy what was given up there without its word: once its row is gone, nobody knows by
 * whose queue it takes orders.
 */
export async function destroyBeforeDeletion(c: Conductor, host: string): Promise<void> {
  await c.instances.scan(async (records) => {
    for (const record of records) {
      const attempt = leftOn(record).get(host);
      if (attempt !== undefined) await orderDestroyed(c, record, { host, attempt, claimToken: 0 });
    }
  });
}

/** Up to an attempt, or a claim. */
async function orderDestroyed(
  c: Conductor,
  record: Instance,
  upTo: { readonly host: string; readonly attempt: number; readonly claimToken: number },
): Promise<void> {
  await orderDestroy(c, record.uuid, { kind: 'destroy', ...upTo, reports: false }, record).catch((thrown: unknown) => {
    // One full queue is no reason to forget nothing any more.
    if (BerthError.from(thrown).code !== 'resource_exhausted') throw thrown;
  });
}

/** Hosts that may still run what was given up, or ended, with its last attempt there: everything up to that is destroyed. */
function leftOn(record: Instance): ReadonlyMap<string, number> {
  const unconfirmed = record.attempts.filter(({ outcome }) => WITHOUT_WORD.includes(outcome));
  const left = new Map(unconfirmed.map(({ host, number }) => [host, number]));
  if (record.state === 'deleted' && record.host !== undefined) left.set(record.host, attemptNumber(record));
  return left;
}
