import type { Bus } from '#libs/bus/port';
import type { RuntimeDeps } from '#libs/runtime/service';
import type { ManagedHost } from './carried-hosts';
import type { OpenDriver } from './drivers/driver';
import type { Acquirer } from './holding/acquire-hosts';
import type { FormerRun } from './holding/former-run';
import type { LossReason } from './holding/host-lease';
import type { Journal } from './host/journal';
import type { AgentMetrics } from './metrics';
import type { AgentConfig } from './options';
import type { OrderQueue } from './orders/order-queue';
import type { PoolNodes } from './pool/open-node';
import type { LostReports } from './reports/report-lost';

export interface ComputeAgentParts extends RuntimeDeps {
  readonly bus: Bus;
  readonly config: AgentConfig;
  readonly driver: OpenDriver;
  /** The former run of this agent; default: unknown. */
  readonly formerRun?: FormerRun;
  /** Opens a host's journal; default: in the configured state folder, if there is one. */
  readonly journal?: (host: string) => Promise<Journal>;
  /** The nodes of the configured pool, which this agent shares with others; it then has no hosts of its own. */
  readonly nodes?: PoolNodes | undefined;
}

/** One run of an agent: shared by all that works on its hosts. */
export interface AgentRun extends ComputeAgentParts {
  readonly counters: AgentMetrics;
  readonly agentRun: string;
  /** Aborts at the end of draining. */
  readonly drainEnd: AbortSignal;
  readonly lostReports: LostReports;
}

/** A run with the hosts that it carries. */
export interface CarryingRun extends AgentRun {
  readonly carried: readonly ManagedHost[];
  readonly orders: OrderQueue;
}

/** Work on the hosts of a process: its own, or the nodes of a pool that it shares. */
export interface Hosting {
  /** Keeps the run a holder of hosts, which the acquirer requests. */
  begin(acquirer: Acquirer): void;
  /** Opens granted hosts, takes their orders and reports for them. Never rejects because of one of them. */
  open(granted: readonly ManagedHost[]): Promise<void>;
  /** Resolves when the hosts report for the first time, or one could not be opened. */
  readonly begun: Promise<void>;
  /** The error of a host that could not be opened. */
  readonly failure: Error | undefined;
  /** Stops the work on a host that another run holds, or may. */
  lose(one: ManagedHost, reason: LossReason): void;
  /** The reason why not all are ready; undefined when they are. */
  whyNotReady(): string | undefined;
  /** Ends what `begin` began. */
  stop(): void;
  /** At the end: hands over what others may continue. */
  leave(): Promise<void>;
}
