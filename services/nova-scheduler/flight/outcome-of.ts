import type { PlaceResult } from '../decision/place-instances';
import type { NovaOutcome } from './entries';

export function novaOutcomeOf(result: PlaceResult): NovaOutcome {
  if (result.kind === 'refused') return { kind: 'refused', summary: result.refusals.toText(), preemptsOn: undefined };
  const destinations = result.placed.map(({ instanceUuid = '', pick: { node, candidate }, alternates }) => ({
    instanceUuid,
    host: node.host,
    allocations: candidate?.allocations ?? {},
    alternates: alternates.map((one) => one.node.host),
  }));
  return { kind: 'decided', destinations };
}
