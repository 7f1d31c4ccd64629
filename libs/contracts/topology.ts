import type { QueueSpec } from '../bus/port';

/**
 * Names of queues and topics: a public contract, documented in `proto/README.md`. Everyone declares a queue with the
 * spec given here, so that it does not matter who comes first.
 */
export const BUILD_REQUESTS: QueueSpec = {
  name: 'build.requests',
  kind: 'work',
  maxLength: 100_000,
  deliveryLimit: 10,
};
export const BUILD_RESULTS: QueueSpec = {
  name: 'build.results',
  kind: 'work',
  maxLength: 1_000_000,
  deliveryLimit: 10,
};
export const RPC_SCHEDULER: QueueSpec = { name: 'rpc.scheduler', kind: 'transient', maxLength: 10_000 };
export const RPC_CONDUCTOR: QueueSpec = { name: 'rpc.conductor', kind: 'transient', maxLength: 10_000 };
export const STATS: QueueSpec = { name: 'stats', kind: 'transient', maxLength: 100_000 };

/** The queue of a host, and that of a service host for the builds of all hosts that it carries. */
export function agentQueue(host: string): QueueSpec {
  return { name: `agent.${host}`, kind: 'host', maxLength: 10_000 };
}

/** How an agent signs what it sends, so that one host can't report for another. */
export function agentSender(host: string): string {
  return `compute-agent.${host}`;
}

/** The topic of an instance event. Dots in a project id would add words, so they become dashes. */
export function instanceTopic(state: string, projectId: string, uuid: string): string {
  return `instance.${state}.${projectId.replaceAll('.', '-') || '-'}.${uuid}`;
}
