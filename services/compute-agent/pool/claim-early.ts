import limitConcurrency from 'p-limit';
import { BerthError } from '#libs/domain/errors';
import { retryWithBackoff } from '#libs/runtime/backoff';
import type { NodeController } from '../drivers/baremetal/node-controller';
import { isFenced } from '../drivers/fenced';
import type { HostLease } from '../holding/host-lease';
import type { NodeStoreParts } from './node-store';

/** Limit of concurrent claims. */
const MAX_CLAIMS_AT_ONCE = 32;

/** Claims a newly held node; ends with the signal, or when another agent has claimed it since. */
export type ClaimEarly = (
  lease: HostLease,
  controller: Pick<NodeController, 'claim' | 'status'>,
  signal: AbortSignal,
  /** The node's machine, once known. */
  systemId?: () => string,
) => Promise<void>;

/**
 * Claims nodes at their controllers as soon as they are held.
 *
 * The naive way is to claim a node before its first order: until then a former agent still has its session, and an
 * order that it had in hand when it was paused (an operator's `power off` of a node with an instance) is executed when
 * it wakes up, long after the node has another manager. So a node is claimed at once, concurrently with everything
 * else: a node whose controller is away is still reported with its known state, and no order goes there without a
 * claim.
 */
export function claimEarly({ clock, random, config, log }: NodeStoreParts): ClaimEarly {
  const takeTurn = limitConcurrency(MAX_CLAIMS_AT_ONCE);
  return async (lease, controller, signal, systemId = () => '') => {
    const { host, epoch } = lease;
    const claim = () =>
      takeTurn(async () => {
        if (signal.aborted || !lease.isHeld || lease.epoch !== epoch) return;
        // The next report may make it certain again.
        if (!lease.isCertainBy(epoch))
          throw new BerthError('unavailable', 'not_surely_held', `node ${host} may be another's`);
        await controller.claim(epoch, { systemId: systemId() || undefined, isCertain: () => lease.isCertainBy(epoch) });
        // Another agent may have ended the session of an earlier claim.
        await controller.status();
      });
    let logged = '';
    const onFailure = (error: unknown) => {
      // Controllers may be away for hours: one line per reason, not per try.
      const { reason } = BerthError.from(error);
      if (reason === logged) return;
      logged = reason;
      log.warn({ event: 'node_not_claimed', host, error }, 'node controller not claimed, retrying');
    };
    const isRetryable = (thrown: unknown) => !isFenced(thrown);
    const pauses = { firstMs: config.nodePollMs, maxMs: Math.max(config.nodePollMs, config.retryMaxMs) };
    try {
      await retryWithBackoff(claim, { clock, random, ...pauses, signal, isRetryable, onFailure });
    } catch {
      // Another agent has it, or the node is closed.
    }
  };
}
