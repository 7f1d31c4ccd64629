import type { Bus } from '#libs/bus/port';
import { castTyped } from '#libs/bus/typed-calls';
import { askHostCodec } from '#libs/contracts/compute';
import type { UnconfirmedHost } from '#libs/contracts/diagnosis';
import { agentQueue } from '#libs/contracts/queues';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Random } from '#libs/domain/random';
import type { AskStore } from '#libs/placement/port/asks';
import type { PickedHost } from '../decision/pick-hosts';
import type { SchedulerConfig } from '../options';

/** Asks hosts about what is to be claimed there; those that do not confirm it, each once. */
export type AskHosts = (
  picks: readonly PickedHost[],
  projectId: string,
  signal: AbortSignal,
) => Promise<readonly UnconfirmedHost[]>;

export interface AskParts {
  readonly bus: Bus;
  readonly placement: AskStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly config: Pick<SchedulerConfig, 'confirmTimeoutMs'>;
}

const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 50;

/**
 * Asks the hosts of picks, all at once, and waits for their answers up to `confirmTimeoutMs`.
 *
 * The naive way is a call to the agent. But an agent may write to no queue but its own reports', so that it can't be made to
 * speak to anybody for another; and its answer there is taken by any scheduler. So the question is opened in the store under
 * an id that only the asked host learns, whoever takes the answer notes it there, once it is known who sent it, and the asker
 * looks. What it costs: a few reads of the store, up to `LAST_LOOK_MS` more than the host takes. An agent that answers late
 * answers nobody; one that answers for another host is refused by its name (`take-answer.ts`).
 *
 * @throws BerthError `unavailable`: the store is away, and nothing was claimed.
 */
export function hostAsker({ bus, placement, clock, random, config }: AskParts): AskHosts {
  const { confirmTimeoutMs: ttlMs } = config;

  async function ask(
    { instanceUuid, host: { host: of }, candidate }: PickedHost,
    projectId: string,
    signal: AbortSignal,
  ): Promise<UnconfirmedHost | undefined> {
    const { name: host, serviceHost, epoch } = of;
    const untilMs = clock.elapsed() + ttlMs;
    const askId = random.uuid();
    await placement.openAsk({ id: askId, host, instanceUuid, ttlMs }, clock.now());
    const { allocations } = candidate;
    const question = { askId, host, epoch, instanceUuid, projectId, allocations };
    try {
      const options = { isTransient: true, expiresInMs: ttlMs };
      await castTyped({ bus, queue: agentQueue(serviceHost) }, askHostCodec, question, options);
    } catch (thrown) {
      const { reason, message } = BerthError.from(thrown);
      return { host, reason: 'not_asked', message: `its agent could not be asked: ${message} (${reason})` };
    }
    for (let pauseMs = FIRST_LOOK_MS; !signal.aborted; pauseMs = Math.min(2 * pauseMs, LAST_LOOK_MS)) {
      const leftMs = untilMs - clock.elapsed();
      if (leftMs <= 0) break;
      await sleep(clock, Math.min(pauseMs, leftMs), signal);
      const text = await placement.askAnswer(askId, clock.now());
      if (text === undefined) continue;
      const { reason, message } = JSON.parse(text) as Answer;
      return reason === '' ? undefined : { host, reason, message };
    }
    return { host, reason: 'no_answer', message: `its agent did not answer within ${ttlMs} ms` };
  }

  return async (picks, projectId, signal) => {
    const answers = await Promise.all(picks.map((one) => ask(one, projectId, signal)));
    const byHost = new Map<string, UnconfirmedHost>();
    for (const one of answers) if (one) byHost.set(one.host, one);
    return [...byHost.values()];
  };
}

/** An answer as it is noted; the reason is '' when there is room. */
export interface Answer {
  readonly reason: string;
  readonly message: string;
}
