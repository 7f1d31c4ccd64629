import { ACK, REQUEUE, type Settlement } from '#libs/bus/port';
import { buildReportCodec } from '#libs/contracts/compute';
import type { BuildReport } from '#libs/contracts/messages';
import { castTyped } from '#libs/contracts/rpc';
import { agentSender, BUILD_RESULTS } from '#libs/contracts/topology';
import { type Host, persist } from './host';

/** What a report says besides which attempt of which instance it is about. */
export type Verdict = Pick<BuildReport, 'outcome'> & { readonly reason?: string; readonly message?: string };

/** Which attempt: a BuildInstance is one. */
export type About = Pick<BuildReport, 'instanceUuid' | 'attempt' | 'claimRevision' | 'alternates'>;

export const DESTROYED: Verdict = {
  outcome: 'destroyed',
  reason: 'destroyed',
  message: 'the instance was destroyed as told',
};

/**
 * Reports to the conductors, for as long as it takes: the message that this answers is acked only when the broker has
 * the report, and given back when the host gives up.
 */
export async function tell(host: Host, about: About, verdict: Verdict): Promise<Settlement> {
  const { bus, facts, log } = host;
  const { instanceUuid, attempt, claimRevision } = about;
  const identity = { instanceUuid, host: facts.name, attempt, claimRevision };
  // Whom it went well for has no use for other hosts.
  const alternates = verdict.outcome === 'active' ? [] : about.alternates;
  const report: BuildReport = { ...identity, alternates, reason: '', message: '', ...verdict };
  const sender = agentSender(facts.name);
  const isTold = await persist(
    host,
    () => castTyped(bus, BUILD_RESULTS.name, buildReportCodec, report, { sender, isPackable: true }),
    (error) => log.warn({ ...logFields(host, about), error }, 'a build report waits for the broker'),
  );
  return isTold ? ACK : REQUEUE;
}

/** How log lines name an attempt. */
export function logFields({ facts }: Host, about: Pick<About, 'instanceUuid' | 'attempt'> & { requestId?: string }) {
  const { instanceUuid: instance_uuid, requestId: request_id, attempt } = about;
  return { host: facts.name, instance_uuid, request_id, attempt };
}
