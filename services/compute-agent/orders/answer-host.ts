import { callMethod } from '#libs/bus/typed-calls';
import type { AskHost } from '#libs/contracts/compute';
import { agentSender, STATS } from '#libs/contracts/queues';
import { answerHostMethod } from '#libs/contracts/selection';
import { BerthError } from '#libs/domain/errors';
import { type Host, refreshExternalUsage } from '../host/host';
import { refusalToConfirm } from '../host/instance-claim';
import { truthOf } from './take-build';

/** A scheduler that asks waits no longer. */
const ANSWER_TIMEOUT_MS = 2_000;

/**
 * Answers whether the host has the room that was claimed there, by what it has and runs now (`instance_claim`), and holds none
 * of it: the order to build comes next, and has the last word. An answer that can't be sent is silence, which the scheduler
 * takes for a refusal.
 */
export async function answerHost(host: Host, ask: AskHost): Promise<void> {
  const { bus, facts, ledger, lease, log } = host;
  await refreshExternalUsage(host);
  if (host.isOver?.()) return;
  const refusal = refusalToConfirm(ask, ledger.get(ask.instanceUuid), truthOf(host));
  const { reason, message } = refusal ?? { reason: '', message: '' };
  const answer = { askId: ask.askId, host: facts.name, epoch: lease.epoch, reason, message };
  const options = { timeoutMs: ANSWER_TIMEOUT_MS, sender: agentSender(facts.name) };
  try {
    await callMethod({ bus, queue: STATS }, answerHostMethod, answer, options);
  } catch (thrown) {
    const { code, reason: why } = BerthError.from(thrown);
    const fields = { event: 'answer_not_sent', host: facts.name, instance_uuid: ask.instanceUuid, code, reason: why };
    log.warn(fields, 'confirmation not delivered: the scheduler selects another host');
  }
}
