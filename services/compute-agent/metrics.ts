import type { Clock } from '#libs/domain/clock';
import type { Metrics } from '#libs/runtime/metrics';
import type { Ledger } from './host/ledger';
import type { TrackedInstance } from './host/tracked-instance';

/** The metrics of an agent, over all hosts of the process: a label per host would make thousands of series. */
export function agentMetrics(metrics: Metrics, clock: Clock) {
  const ledgers = new Set<Ledger>();
  const sum = (state: TrackedInstance['state']) => [...ledgers].reduce((all, ledger) => all + ledger.count(state), 0);
  metrics.gauge('berth_agent_instances', 'Instances that the hosts of this process carry.', ['state'], (gauge) => {
    for (const state of ['building', 'running', 'stopping', 'stopped', 'destroying'] as const)
      gauge.set({ state }, sum(state));
  });
  let silentSinceMs: () => readonly number[] = () => [];
  metrics.gauge(
    'berth_agent_controller_silence_seconds',
    'Time since the last answer of the controller, of those that do not serve, that has been silent longest; 0 for none.',
    [],
    (gauge) => gauge.set(Math.max(0, ...silentSinceMs().map((atMs) => (clock.now() - atMs) / 1_000))),
  );
  return {
    /** Reads when each of the controllers that do not serve answered last; 0 for never. */
    watchSilence(read: typeof silentSinceMs) {
      silentSinceMs = () => read().filter((atMs) => atMs > 0);
    },
    /** Adds a host's ledger to the gauge of instances; returns its removal. */
    watch(ledger: Ledger) {
      ledgers.add(ledger);
      return () => ledgers.delete(ledger);
    },
    builds: metrics.counter('berth_agent_builds_total', 'Builds that came to an end, by outcome.', ['outcome']),
    refusals: metrics.counter('berth_agent_refusals_total', 'Builds refused, by reason.', ['reason']),
    destroys: metrics.counter('berth_agent_destroys_total', 'Instances destroyed as ordered.'),
    buildSeconds: metrics.histogram('berth_agent_build_seconds', 'From taking a build to its end.', ['outcome']),
    reports: metrics.counter('berth_agent_stats_total', 'Stats sent, by how they were taken.', ['result']),
    hostsTaken: metrics.gauge('berth_agent_hosts_taken', 'Hosts of this process that another run of an agent holds.'),
    superseded: metrics.counter('berth_agent_superseded_total', 'Hosts that another run took over from this one.'),
    hosts: metrics.gauge('berth_agent_hosts', 'Hosts that this process carries, or may come to hold.'),
    nodesGivenUp: metrics.counter('berth_agent_nodes_given_up_total', 'Nodes given to other agents of the pool.'),
    ordersPutBack: metrics.counter(
      'berth_agent_orders_put_back_total',
      'Orders that went back to their queue: not_held, in_work.',
      ['reason'],
    ),
    controllersAway: metrics.gauge(
      'berth_agent_controllers_away',
      'Nodes held by this process whose controllers do not serve: away, refusing the account, or of another machine.',
    ),
    controllerFailures: metrics.counter(
      'berth_agent_controller_failures_total',
      'Times that the controller of a node ceased to serve, by reason.',
      ['reason'],
    ),
    ordersMoved: metrics.counter(
      'berth_agent_orders_moved_total',
      'Orders for nodes that other agents of the pool hold, which conductors give again.',
    ),
  };
}

export type AgentMetrics = ReturnType<typeof agentMetrics>;
