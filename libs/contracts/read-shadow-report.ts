import { BerthError } from '../domain/errors';
import { SHADOW_OUTCOMES, type ShadowReport } from './shadow-report';

/** Instances of a report whose choices could be compared, and those for which both chose alike. */
export function agreementOf({ outcomes }: Pick<ShadowReport, 'outcomes'>): { compared: number; alike: number } {
  const compared = SHADOW_OUTCOMES.reduce((sum, outcome) => sum + (outcome === 'unseen' ? 0 : outcomes[outcome]), 0);
  return { compared, alike: outcomes.same + outcomes.neither };
}

/** The report in an answer of a shadow. @throws BerthError `failed_precondition / not_a_shadow` */
export function readShadowReport(url: string, { status, body }: { status: number; body: unknown }): ShadowReport {
  const { outcomes, differences } = (body ?? {}) as Partial<ShadowReport>;
  if (status === 200 && typeof outcomes === 'object' && Array.isArray(differences)) return body as ShadowReport;
  const message = `${url} has no report of a shadow (HTTP ${status}): it is no berth nova-scheduler with BERTH_NOVA_SHADOW=true`;
  throw new BerthError('failed_precondition', 'not_a_shadow', message);
}
