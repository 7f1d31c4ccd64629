import { join } from 'node:path';
import limitConcurrency from 'p-limit';
import type { Clock } from '#libs/domain/clock';
import type { HostIdentity, OpenDriver } from './drivers/driver';
import { HostLease, type LossReason } from './holding/host-lease';
import { createHost, type Host, type HostParts } from './host/host';
import { type HostFacts, hostFacts } from './host/host-facts';
import { type Journal, noJournal, openJournal } from './host/journal';
import { recallEnded, recoverInstances } from './host/recover';
import { type AgentConfig, leaseMsOf } from './options';
import type { CarriedHost } from './orders/order-queue';
import type { KnownNode } from './pool/open-node';
import type { LostReports } from './reports/report-lost';
import type { HostReporter } from './reports/reporter';

/** Limit of the hosts opened at once. */
export const MAX_OPENING_HOSTS = 200;

/** A host of the process, before and after it is open. */
export interface ManagedHost extends CarriedHost {
  readonly identity: HostIdentity;
  readonly facts: HostFacts;
  journal: Journal;
  /** For a pool's node: stops its retries. */
  closing: AbortController;
  /** For a pool's node: this run's last state of it, and when its former driver is closed. */
  known: KnownNode | undefined;
  closed: Promise<void>;
  reports: HostReporter | undefined;
}

/** The hosts of a process, and the place of their journals. */
export interface ConfiguredHosts {
  readonly config: AgentConfig;
  readonly clock: Clock;
  /** Default: in the configured state folder, if there is one. */
  readonly journal?: (host: string) => Promise<Journal>;
}

/**
 * The hosts of a process, or the nodes of its pool that it may come to hold; none is open or held yet.
 *
 * @throws BerthError `invalid_argument / bad_config`, `failed_precondition / state_dir`
 */
export function carriedHosts(
  { config, clock, journal }: ConfiguredHosts,
  onLost: (lease: HostLease, reason: LossReason) => void,
  names: readonly string[],
  isOthers?: (host: string) => boolean,
): Promise<ManagedHost[]> {
  const leaseMs = leaseMsOf(config);
  const openOne = journal ?? ((host: string) => journalOf(config, host));
  const takeTurn = limitConcurrency(MAX_OPENING_HOSTS);
  return Promise.all(
    names.map(async (name, index) => {
      const identity = { name, index };
      const lease = new HostLease(name, clock, leaseMs, onLost);
      const facts = hostFacts(config, identity);
      return {
        identity,
        facts,
        lease,
        journal: await takeTurn(() => openOne(name)),
        isOthers: isOthers && (() => isOthers(name)),
        closing: new AbortController(),
        known: undefined,
        closed: Promise.resolve(),
        host: undefined,
        reports: undefined,
      };
    }),
  );
}

/**
 * Opens a held host and recovers its instances. Not earlier, because journal and half-built instances belong to the run
 * that holds the host.
 */
export async function openHost(
  { identity, facts, journal, lease }: ManagedHost,
  parts: Omit<HostParts, 'driver' | 'facts' | 'journal' | 'lease'> & { readonly driver: OpenDriver },
  lostReports: LostReports,
): Promise<Host> {
  const remembered = await journal.load();
  const running = remembered.filter(({ state }) => state === 'running').map(({ uuid }) => uuid);
  const driver = await parts.driver(identity, running);
  const host = createHost({ ...parts, facts, driver, journal, lease });
  lostReports.watch(host);
  for (const uuid of await journal.loadUnreadable()) keepUnreadable(host, uuid);
  try {
    await recallEnded(host);
    const lost = await recoverInstances(host, remembered);
    for (const instance of lost) lostReports.report(host, instance, 'it stopped while the agent was away');
    return host;
  } catch (thrown) {
    await driver.close();
    throw thrown;
  }
}

/** A truncated file, as after a full disk or a power loss: its instance is left alone. */
function keepUnreadable({ unreadable, log, facts }: Host, uuid: string): void {
  unreadable.add(uuid);
  const fields = { event: 'journal_unreadable', host: facts.name, instance_uuid: uuid };
  log.error(fields, 'journal entry unreadable, set aside: the instance is kept as it is');
}

function journalOf({ stateDir }: AgentConfig, name: string): Promise<Journal> {
  return stateDir === '' ? Promise.resolve(noJournal) : openJournal(join(stateDir, name, 'journal'));
}
