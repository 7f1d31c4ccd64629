import type { Decision } from '../decision/decide';
import type { DecisionOutcome } from './entries';

export function outcomeOf(decision: Decision): DecisionOutcome {
  if (decision.kind === 'refused') {
    const { diagnosis, preemption } = decision;
    return { kind: 'refused', summary: diagnosis.summary, preemptsOn: preemption?.view.host };
  }
  const destinations = decision.destinations.map(({ instanceUuid, selected, alternates }) => ({
    instanceUuid,
    host: selected.host.host.name,
    allocations: selected.candidate.allocations,
    alternates: alternates.map(({ host }) => host.host.name),
  }));
  return { kind: 'decided', destinations };
}
