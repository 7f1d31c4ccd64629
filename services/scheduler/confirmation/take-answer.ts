import { answer } from '#libs/bus/typed-calls';
import { answerHostMethod } from '#libs/contracts/selection';
import type { Clock } from '#libs/domain/clock';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { requireHolder } from '../nodes/pool-rights';
import type { Answer } from './ask-hosts';

/**
 * Agents' answers to schedulers that ask their hosts, noted for who asked.
 *
 * @throws BerthError `permission_denied / wrong_host`: the sender does not speak for the host; `unavailable`.
 */
export function answerCalls({
  placement,
  clock,
}: {
  readonly placement: Pick<PlacementStore, 'answerAsk' | 'holders'>;
  readonly clock: Clock;
}) {
  return answer(answerHostMethod, async ({ askId, host, epoch, reason, message }, { identity }) => {
    await requireHolder(identity, { host, epoch }, placement);
    const said: Answer = { reason, message };
    return { isAwaited: await placement.answerAsk(askId, host, JSON.stringify(said), clock.now()) };
  });
}
