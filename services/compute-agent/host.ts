import type { Bus } from '#libs/bus/port';
import type { Clock } from '#libs/domain/clock';
import type { Surroundings } from '#libs/runtime/service';
import { type Builds, createBuilds } from './builds';
import { createDestroyed, type Destroyed } from './destroyed';
import type { Driver } from './drivers/driver';
import { createExclusive, type Exclusive } from './exclusive';
import type { Journal } from './journal';
import { createLedger, type Ledger } from './ledger';
import type { AgentMetrics } from './metrics';
import type { AgentConfig } from './options';
import { untilDone } from './retry';
import type { HostFacts, Others } from './stats';

/** What one host of an agent is given. */
export interface HostParts extends Surroundings {
  readonly bus: Bus;
  readonly config: AgentConfig;
  readonly facts: HostFacts;
  readonly driver: Driver;
  readonly journal: Journal;
  readonly counts: AgentMetrics;
}

/** One host: what it is given, and its own truth. Functions in files of their own work on it. */
export interface Host extends HostParts {
  readonly ledger: Ledger;
  readonly builds: Builds;
  readonly destroyed: Destroyed;
  /** Destroys going on: a build of the same instance waits for them. */
  readonly ending: Exclusive;
  /** Aborts when what would be tried for ever must be given up. */
  readonly givingUp: AbortSignal;
  /** What ran here that is not the agent's when last looked. */
  others: Others;
  /** Tells that the next report has news. */
  changed: () => void;
}

export function createHost(parts: HostParts, givingUp: AbortSignal): Host {
  const { driver, journal, clock, config, counts } = parts;
  const ledger = createLedger();
  counts.watch(ledger);
  return {
    ...parts,
    ledger,
    builds: createBuilds({ driver, ledger, journal, clock, maxBuilds: config.maxBuilds }),
    destroyed: createDestroyed(clock),
    ending: createExclusive(),
    givingUp,
    others: { count: 0, usage: {} },
    changed: () => {},
  };
}

/** Repeats an action of a host until it succeeds or the host gives up; answers which. */
export function persist(
  host: { readonly clock: Clock; readonly config: AgentConfig; readonly givingUp: AbortSignal },
  action: () => Promise<unknown>,
  onFailure: (error: unknown) => void,
): Promise<boolean> {
  const { clock, config, givingUp: signal } = host;
  return untilDone(action, { clock, maxMs: config.retryMaxMs, signal, onFailure });
}
