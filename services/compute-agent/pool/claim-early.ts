import limitConcurrency from 'p-limit';
import { BerthError } from '#libs/domain/errors';
import { retryWithBackoff } from '#libs/runtime/backoff';
import type { NodeController } from '../drivers/baremetal/node-controller';
import { isFenced } from '../drivers/fenced';
import type { HostLease } from '../holding/host-lease';
import type { NodeStoreParts } from './node-store';

/** Controllers that are claimed at once. */
const MAX_CLAIMS_AT_ONCE = 32;

/** Claims a node that is held from now on; ends with the signal, or when another has claimed it since. */
export type ClaimEarly = (
  lease: HostLease,
  controller: Pick<NodeController, 'claim' | 'status'>,
  signal: AbortSignal,
  /** The machine that the node is, as far as it is known. */
  systemId?: () => string,
) => Promise<void>;

/**
 * Claims nodes at their controllers as soon as they are held.
 *
 * The naive way is to claim a node before the first order that it is given: an agent before then still has its session, and what it
 * had in hand when it was paused (an operator's `power off` of a node with an instance) is done when it wakes up, long after the node
 * has another manager. So a node is claimed at once, beside everything else: what is known of a node whose controller is away is
 * reported all the same, and no order goes there without a claim.
 */
export function claimEarly({ clock, random, config, log }: NodeStoreParts): ClaimEarly {
  const takeTurn = limitConcurrency(MAX_CLAIMS_AT_ONCE);
  return async (lease, controller, signal, systemId = () => '') => {
    const { host, epoch } = lease;
    const claim = () =>
      takeTurn(async () => {
        if (signal.aborted || !lease.isHeld || lease.epoch !== epoch) return;
        // It may be certain again with the next report.
        if (!lease.isCertainBy(epoch))
          throw new BerthError('unavailable', 'not_surely_held', `node ${host} may be another's`);
        await controller.claim(epoch, { systemId: systemId(), isCertain: () => lease.isCertainBy(epoch) });
        // The session of a claim before may have been ended by another.
        await controller.status();
      });
    let logged = '';
    const onFailure = (error: unknown) => {
      // A node is away for hours: one line for each reason, not one for each try.
      const { reason } = BerthError.from(error);
      if (reason === logged) return;
      logged = reason;
      log.warn({ event: 'node_not_claimed', host, error }, 'the controller of a node could not be claimed, retrying');
    };
    const isRetryable = (thrown: unknown) => !isFenced(thrown);
    const pauses = { firstMs: config.nodePollMs, maxMs: Math.max(config.nodePollMs, config.retryMaxMs) };
    try {
      await retryWithBackoff(claim, { clock, random, ...pauses, signal, isRetryable, onFailure });
    } catch {
      // It is another's, or the node is closed.
    }
  };
}
