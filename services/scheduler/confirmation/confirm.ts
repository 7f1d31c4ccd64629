import type { UnconfirmedHost } from '#libs/contracts/diagnosis';
import type { Clock } from '#libs/domain/clock';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import type { Log } from '#libs/runtime/log';
import type { ClaimMirror } from '../decision/claim';
import type { PickedHost } from '../decision/pick-hosts';
import type { SchedulerMetrics } from '../metrics';
import type { SchedulerConfig } from '../options';
import type { AskHosts } from './ask-hosts';

/** Picks that are to be confirmed before they are claimed. */
interface Asked {
  readonly projectId: string;
  readonly picks: readonly PickedHost[];
}

/** Asks the hosts of picks; those that do not confirm. */
export type Confirm = (
  asked: Asked,
  caller: { readonly isAborted: boolean; readonly signal: AbortSignal },
) => Promise<readonly UnconfirmedHost[]>;

export interface ConfirmParts {
  readonly ask: AskHosts;
  readonly placement: Pick<PlacementStore, 'commit'>;
  readonly mirror: Pick<ClaimMirror, 'apply'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<SchedulerMetrics, 'asked'>;
  readonly config: Pick<SchedulerConfig, 'failureHalfLifeMs'>;
}

/**
 * Confirms picks with their hosts, before they are claimed.
 *
 * The naive way claims first, so that nobody takes the room meanwhile, and gives the claims back when a host refuses. But a
 * request is asked again when its answer is late, by another conductor as well: one that is refused then would give back a
 * claim by which the other builds already. Asked first, every claim of such a request is a confirmed one, and nothing is ever
 * given back. What it costs: the room may be taken in between, and then all is decided, and asked, again.
 *
 * A host that does not confirm weighs less for a while, as after a failed build: who always refuses is asked last.
 */
export function confirmer({ ask, placement, mirror, clock, log, metrics, config }: ConfirmParts): Confirm {
  return async ({ projectId, picks }, caller) => {
    const unconfirmed = await ask(picks, projectId, caller.signal);
    const hostCount = new Set(picks.map(({ host }) => host.index)).size;
    metrics.asked.inc({ outcome: 'confirmed' }, hostCount - unconfirmed.length);
    // A caller that left may have cut the answers short.
    if (caller.isAborted) return unconfirmed;
    for (const { host, reason, message } of unconfirmed) {
      metrics.asked.inc({ outcome: reason === 'no_answer' || reason === 'not_asked' ? 'silent' : 'refused' });
      log.info({ event: 'host_unconfirmed', host, reason }, `a host did not confirm a selection: ${message}`);
      // In no row of failures: it lowers the host's weight, and no project leaves a host out by it.
      const failure = { host, halfLifeMs: config.failureHalfLifeMs, startedAtMs: undefined, projectId };
      const why = `a selection was not confirmed: ${reason}: ${message}`;
      const result = await placement.commit({ kind: 'record_failure', ...failure, reason: why, atMs: clock.now() });
      if (result.kind === 'committed') mirror.apply(result.change);
    }
    return unconfirmed;
  };
}
