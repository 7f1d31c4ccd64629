import type { Metrics } from '#libs/runtime/metrics';
import type { FactKind, NovaFacts } from './facts/nova-facts';

const KINDS: readonly FactKind[] = ['services', 'nodes', 'aggregates', 'instances', 'cells', 'hardware', 'images'];

/** Metrics of a scheduler for Nova. */
export function novaMetrics(metrics: Metrics, facts: NovaFacts) {
  const help = "Age of what was read last from Nova's API and databases.";
  metrics.gauge('berth_nova_facts_age_seconds', help, ['kind'], (gauge) => {
    for (const kind of KINDS) {
      const ageMs = facts.ageMs(kind);
      if (ageMs !== undefined) gauge.set({ kind }, ageMs / 1_000);
    }
  });
  return {
    selectSeconds: metrics.histogram('berth_nova_select_seconds', "Time of a call of Nova's for destinations.", [
      'outcome',
    ]),
    conflicts: metrics.counter(
      'berth_nova_claim_conflicts_total',
      'Decisions made again because others took the hosts.',
    ),
    handedOver: metrics.counter('berth_nova_handed_over_total', 'Calls handed over to a stock scheduler.', ['filter']),
  };
}
