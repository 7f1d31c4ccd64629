import type { Attempt, Instance } from '#libs/domain/instance';
import type { Conductor } from '../conductor';
import { triedBy } from '../steps/next-alternate';

/**
 * A build that has come to run tells what the hosts that it failed on are worth: there it failed, and elsewhere it runs. One that fails
 * on every host is its own fault, and notes none.
 *
 * Whoever dies between the record and this leaves a failure out: the next build that fails there says the same.
 *
 * @param record  as it was before it was ACTIVE
 */
export async function blameHosts(c: Conductor, record: Instance): Promise<void> {
  const { host: builtOn, projectId } = record;
  const { failureHalfLifeMs: halfLifeMs } = c.config;
  for (const { host, outcome, reason: why, startedAtMs, endedAtMs } of triedBy(record)) {
    if (host === builtOn || !BLAMED.includes(outcome)) continue;
    const atMs = c.clock.now();
    // A timeout may be anybody's, and a refusal says that there is no room: they weigh, and are not suspected.
    const began = outcome === 'failed' ? startedAtMs : undefined;
    const about = { host, halfLifeMs, projectId, failedAtMs: endedAtMs ?? atMs, reason: `${outcome}: ${why}` };
    await c.placement.commit({ kind: 'record_failure', atMs, ...about, startedAtMs: began });
  }
}

const BLAMED: readonly Attempt['outcome'][] = ['failed', 'refused', 'timed_out'];
