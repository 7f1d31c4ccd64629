import type { Decision } from '#libs/contracts/diagnosis';
import type { Context } from '../../context';
import { ageOf } from '../../views/format';
import { facts } from '../../views/table';
import { showDiagnosis, showHosts } from './show-explanation';

/** Prints the decision for an instance: its time, its revision, and the reasons for the host. */
export function showDecision(context: Context, instanceUuid: string, decision: Decision): void {
  const { terminal, clock } = context;
  const { requestId, decidedAtMs, revision, diagnosis, hosts, selected } = decision;
  const host = selected[instanceUuid];
  const others = Object.keys(selected).length - 1;
  terminal.print(
    facts(terminal, [
      ['selected', host ?? 'no host'],
      ['decided', `${new Date(decidedAtMs).toISOString()}, ${ageOf(clock, decidedAtMs)} ago`],
      ['revision', String(revision)],
      ['request', others > 0 ? `${requestId}, with ${others} more` : requestId],
    ]),
  );
  terminal.print('');
  showDiagnosis(terminal, diagnosis);
  showHosts(terminal, hosts, new Set(Object.values(selected)));
}
