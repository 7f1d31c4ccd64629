import type { Decision } from '#libs/contracts/diagnosis';
import type { Context } from '../../context';
import { ageOf } from '../../views/format';
import { facts } from '../../views/table';
import { showDiagnosis, showHosts } from './show-explanation';

/** Prints the decision for an instance or a request: its time, its revision, and the reasons for the host. */
export function showDecision(
  context: Context,
  { uuid, gang }: { readonly uuid: string; readonly gang: string | undefined },
  decision: Decision,
): void {
  const { terminal, clock } = context;
  const { requestId, decidedAtMs, revision, diagnosis, hosts, selected, unconfirmed = [] } = decision;
  const host = selected[uuid];
  const found = Object.entries(selected).map(([instance, its]) => ['selected', `${its} for ${instance}`] as const);
  const others = found.length - 1;
  terminal.print(
    facts(terminal, [
      ...(host === undefined && found.length > 0 ? found : [['selected', host ?? 'no host'] as const]),
      ['decided', `${new Date(decidedAtMs).toISOString()}, ${ageOf(clock, decidedAtMs)} ago`],
      ['revision', String(revision)],
      ['request', host !== undefined && others > 0 ? `${requestId}, with ${others} more` : requestId],
      ...(gang === undefined ? [] : [['gang', gang] as const]),
      ...unconfirmed.map((one) => ['not confirmed', `${one.host}: ${one.message} (${one.reason})`] as const),
    ]),
  );
  terminal.print('');
  showDiagnosis(terminal, diagnosis);
  showHosts(terminal, hosts, new Set(Object.values(selected)));
}
