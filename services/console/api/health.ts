/** The data of the health page. */
export interface HealthPage {
  /** This console's version: others should have the same. */
  readonly version: string;
  /** Undefined while the store does not answer. */
  readonly processes: readonly ProcessRow[] | undefined;
  /** The agents with trouble first, then by name; `agentCount` of them are there. */
  readonly agents: readonly AgentRow[];
  readonly agentCount: number;
  readonly queues: readonly QueueRow[];
  readonly store: StoreFacts;
  /** Those of the fleet, where this console is the top's; else none. */
  readonly cells: readonly CellRow[];
}

export interface ProcessRow {
  readonly service: string;
  readonly name: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly seenAtMs: number;
  /** `ready`, `not_ready`, or `silent` when it was not seen for long. */
  readonly state: 'ready' | 'not_ready' | 'silent';
  /** Why it is not ready. */
  readonly problem: string;
}

/** An agent: a process, by the name of its service host. */
export interface AgentRow {
  readonly name: string;
  readonly hosts: number;
  readonly down: number;
  /** When the first of its hosts was heard last; 0 when none is up, -1 while the store does not answer. */
  readonly heardAtMs: number;
}

export interface QueueRow {
  readonly name: string;
  /** Messages that wait; -1 when unknown. */
  readonly depth: number;
  /** Above this the queue refuses messages; 0 for none. */
  readonly limit: number;
}

export interface StoreFacts {
  /** Time of its answer; -1 without one. */
  readonly answeredInMs: number;
  readonly bornAtMs: number;
  readonly revision: number;
  /** Until when it may have lost writes; 0 for never. */
  readonly lostUpToMs: number;
  /** Why the data of this console may be old; '' when it is current. */
  readonly stale: string;
}

export interface CellRow {
  readonly name: string;
  /** The address of its console; '' when that is not known. */
  readonly url: string;
  readonly state: string;
  readonly problem: string;
  readonly hosts: number;
  /** Hosts that take builds. */
  readonly available: number;
  readonly heardAtMs: number;
}
