import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';

/**
 * Delays logins after a service has refused one.
 *
 * A wrong password stays wrong, and accounts are locked after a few tries, even for the right password. So a service
 * that refused is tried again after a minute, and then ever more rarely. Controllers may share a directory of accounts:
 * when several have refused and none has accepted since, logins at all of them wait.
 */
export interface LoginGate {
  /** @throws BerthError `failed_precondition / login_refused` while no login may be tried there. */
  check(root: string): void;
  /** @returns the error of the refused login. */
  refused(root: string, why: string): BerthError;
  accepted(root: string): void;
}

const FIRST_PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 30 * 60_000;
/** Consecutive refusals by different services after which all logins wait. */
const MOST_REFUSING = 3;

interface Refusal {
  readonly count: number;
  readonly untilMs: number;
  readonly why: string;
}

export function loginGate(clock: Clock, user: string): LoginGate {
  const refusals = new Map<string, Refusal>();
  /** Refusals since the last accepted login. */
  let inARow = 0;
  let everywhere: Refusal | undefined;
  const next = (before: Refusal | undefined, why: string): Refusal => {
    const count = (before?.count ?? 0) + 1;
    const pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (count - 1));
    return { count, why, untilMs: clock.elapsed() + pauseMs };
  };
  const errorOf = (root: string, { why, untilMs }: Refusal): BerthError => {
    const seconds = Math.max(0, Math.ceil((untilMs - clock.elapsed()) / 1_000));
    const message = `${root} refuses the account '${user}' (${why}): check BERTH_AGENT_REDFISH_USER and BERTH_AGENT_REDFISH_PASSWORD; the next login is tried in ${seconds} s`;
    return new BerthError('failed_precondition', 'login_refused', message);
  };
  return {
    check(root) {
      const held = [refusals.get(root), everywhere].find((one) => one && clock.elapsed() < one.untilMs);
      if (held) throw errorOf(root, held);
    },
    refused(root, why) {
      const refusal = next(refusals.get(root), why);
      refusals.set(root, refusal);
      inARow++;
      if (inARow >= MOST_REFUSING) everywhere = next(everywhere, `as ${inARow} in a row, the last with ${why}`);
      return errorOf(root, refusal);
    },
    accepted(root) {
      refusals.delete(root);
      inARow = 0;
      everywhere = undefined;
    },
  };
}
