import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { type Attempt, attemptNumber, type Instance } from '#libs/domain/instance';
import type { KeptEnded } from '#libs/instances/store';
import type { Conductor } from '../context';
import { keptAfterLoss, type LostWrites, readLostWrites } from '../lost-writes';
import { orderDestroy } from '../steps/orders';

/** The store does nothing else meanwhile: about a millisecond. */
const FORGET_BATCH = 25;
/** Between two batches the store is left alone for so many times what the first took. */
const FORGET_PAUSE = 4;

/** Attempts that were given up without the word of their host. */
const WITHOUT_WORD: readonly Attempt['outcome'][] = ['evacuated', 'timed_out', 'rolled_back', 'moved', 'reverted'];

/** Forgets what ended before a time, whose hosts were told; after a loss only what was created since. Answers how many. */
export async function forgetEnded(c: Conductor, beforeMs: number): Promise<number> {
  const kept = keptNow(c, await readLostWrites(c));
  for (let forgotten = 0; ; ) {
    const startedAtMs = c.clock.elapsed();
    const batch = await c.instances.forget(beforeMs, FORGET_BATCH, kept);
    forgotten += batch;
    if (batch < FORGET_BATCH || c.stopping.aborted) return forgotten;
    await sleep(c.clock, FORGET_PAUSE * (c.clock.elapsed() - startedAtMs), c.stopping);
  }
}

/** Ended records that a loss keeps at present. */
function keptNow(c: Conductor, lost: LostWrites): KeptEnded | undefined {
  const kept = keptAfterLoss(lost, c.config.retentionMs);
  return c.clock.now() < kept.untilMs ? kept : undefined;
}

/**
 * Of records that are about to be forgotten: tells the dead hosts that they were on, or where an attempt was given up without
 * their word, once more to destroy what they come back with. The first order may have been lost, with the conductor that was
 * to give it too, and once the record is gone no report brings it out. A host that was deleted may come back as well, and finds the order in
 * its queue, if that was left. A host that has come back meanwhile has shown what it runs. What a record from before the store went back does not know of, a later attempt on its host, is to go with it: by all
 * claims from before then.
 */
export async function destroyBeforeForgetting(c: Conductor, records: readonly Instance[], beforeMs: number) {
  const ended = records.filter(({ state, updatedAtMs }) => {
    return (state === 'error' || state === 'deleted') && updatedAtMs < beforeMs;
  });
  if (ended.length === 0) return;
  const lost = await readLostWrites(c);
  const kept = keptNow(c, lost);
  const left = ended
    .filter(({ createdAtMs }) => kept === undefined || createdAtMs > kept.createdUpToMs)
    .flatMap((record) => Array.from(leftOn(record), ([host, number]) => ({ ...record, host, number })));
  if (left.length === 0) return;
  const hosts = await c.placement.hosts([...new Set(left.map(({ host }) => host))]);
  const alive = new Set(hosts.filter(({ up }) => up).map(({ name }) => name));
  for (const { number, ...record } of left.filter(({ host }) => !alive.has(host))) {
    await orderDestroyed(c, record, { attempt: number, claimToken: 0 });
    const mayBeLater = record.state === 'deleted' && record.createdAtMs <= lost.upToMs;
    if (mayBeLater) await orderDestroyed(c, record, { attempt: 0, claimToken: lost.beforeToken - 1 });
  }
}

/** Up to an attempt, or a claim. */
async function orderDestroyed(
  c: Conductor,
  { uuid, host }: { readonly uuid: string; readonly host: string },
  upTo: { readonly attempt: number; readonly claimToken: number },
): Promise<void> {
  await orderDestroy(c, uuid, { kind: 'destroy', host, ...upTo, reports: false }).catch((thrown: unknown) => {
    // One full queue is no reason to forget nothing any more.
    if (BerthError.from(thrown).code !== 'resource_exhausted') throw thrown;
  });
}

/** Where something of it may be that is to go, and its last attempt there: what is destroyed is all up to it. */
function leftOn(record: Instance): ReadonlyMap<string, number> {
  const unconfirmed = record.attempts.filter(({ outcome }) => WITHOUT_WORD.includes(outcome));
  const left = new Map(unconfirmed.map(({ host, number }) => [host, number]));
  if (record.state === 'deleted' && record.host !== undefined) left.set(record.host, attemptNumber(record));
  return left;
}
