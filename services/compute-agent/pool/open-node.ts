import { BerthError } from '#libs/domain/errors';
import type { NodeRecord } from '#libs/domain/nodes/node';
import { openBaremetalDriver } from '../drivers/baremetal/baremetal-driver';
import type { BootProof } from '../drivers/baremetal/boot-watch';
import type { NodeController } from '../drivers/baremetal/node-controller';
import { patiently } from '../drivers/baremetal/node-work';
import { RememberedNode } from '../drivers/baremetal/remembered-node';
import type { NodeDescription, NodeSource } from '../drivers/baremetal/sources/node-source';
import type { Driver } from '../drivers/driver';
import { isFenced } from '../drivers/fenced';
import type { HostLease } from '../holding/host-lease';
import type { Journal } from '../host/journal';
import { holdByClass, nodeJournal } from './node-journal';
import { type NodeStoreParts, nodeWriter } from './node-store';

/** The nodes that the agents of a pool share. */
export interface PoolNodes {
  readonly descriptions: readonly NodeDescription[];
  readonly controller: NodeSource['controller'];
  /** Receives reports of booted systems, if configured. */
  readonly proof?: BootProof | undefined;
}

/** A node that this run holds, under the present epoch. */
export interface OpenNode {
  readonly node: RememberedNode;
  readonly journal: Journal;
  /** Opens its driver, which continues unfinished work. */
  readonly openDriver: () => Promise<Driver>;
}

/** A node as this run had it under an epoch; the record changes until its driver is closed. */
export interface KnownNode {
  readonly node: Pick<RememberedNode, 'record'>;
  readonly epoch: number;
}

/** A node that this run was granted, and the records of it. */
export interface GrantedNode {
  readonly description: NodeDescription;
  readonly controller: NodeController;
  /** The record in the store. */
  readonly stored: NodeRecord | undefined;
  /**
   * This run's own record, in case the store lost it: it is written again before anything is reported of the node.
   */
  readonly own: KnownNode | undefined;
}

export interface OpenNodeParts extends NodeStoreParts {
  readonly proof?: BootProof | undefined;
  /** Called with the reason when a node's controller fails, and with '' when it works again. */
  readonly onHealth?: (host: string, health: string, reason: string) => void;
}

/** Time limit until a new node is first polled. */
const MAX_FIRST_SYNC_MS = 1_000;
/** Polls of an absent controller for a node without a record. */
const FIRST_LOOKS = 3;

/** Opens a granted node from the stored record or this run's own, or else as a new node. */
export async function openNode(
  parts: OpenNodeParts,
  lease: HostLease,
  { description, controller, stored, own }: GrantedNode,
): Promise<OpenNode> {
  const { config, clock, log, random, proof, onHealth } = parts;
  const { resourceClass } = description;
  const { epoch } = lease;
  const first = lastRecord(stored, own, epoch) ?? (await firstRecord(parts, lease, description, controller));
  const node = new RememberedNode(first, nodeWriter(parts, lease), () => clock.now());
  const { pool } = config;
  const { traits = first.traits } = description;
  const isOther = first.pool !== pool || first.resourceClass !== resourceClass || first.traits.join() !== traits.join();
  if (first !== stored || isOther) await node.change({ pool, resourceClass, traits });
  await noteMachine(node, description);
  const { resources } = description;
  const { nodeOffers: offers } = config;
  if (offers !== 'machine' && resourceClass !== '') await holdByClass(node);
  const { nodePollMs: pollMs, nodeShutdownMs: shutdownMs, nodeCleans: cleans } = config;
  const { nodeBootTimeoutMs: bootTimeoutMs, nodeAwayMs: awayMs, reportIntervalMs } = config;
  // Nodes of a service are listed together.
  const everyMs = controller.service ? Math.min(pollMs, reportIntervalMs) : reportIntervalMs;
  const firstMs = random.next() * Math.min(everyMs, MAX_FIRST_SYNC_MS);
  return {
    node,
    journal: nodeJournal(node),
    openDriver() {
      const isCertain = () => lease.isCertainBy(epoch);
      return openBaremetalDriver({
        node,
        controller,
        epoch,
        isCertain,
        clock,
        log,
        offers,
        resources,
        pollMs,
        shutdownMs,
        cleans,
        bootTimeoutMs,
        awayMs,
        proof,
        sync: { firstMs, everyMs },
        onHealth: (health, reason) => onHealth?.(description.name, health, reason),
      });
    },
  };
}

/**
 * The stored record, unless this run has a newer one by the same epoch: nobody else managed the node in between, so the
 * store lost a write, or has yet to take it. By the older record a node that is built would report what ended on it.
 */
function lastRecord(stored: NodeRecord | undefined, own: KnownNode | undefined, epoch: number): NodeRecord | undefined {
  if (stored === undefined || own === undefined) return stored ?? own?.node.record;
  const isNewer = own.epoch === epoch && own.node.record.updatedAtMs > stored.updatedAtMs;
  return isNewer ? own.node.record : stored;
}

/** Notes the machine, if unknown so far, and why it can't be used as listed. */
async function noteMachine(node: RememberedNode, description: NodeDescription): Promise<void> {
  const { systemId = '', systemLink = '', problem = '' } = description;
  const { record } = node;
  const next = {
    systemId: record.systemId || systemId,
    systemLink: systemLink || record.systemLink,
    // An idle node is not polled here.
    health: record.state === 'enroll' || problem !== '' ? problem.slice(0, MOST_PROBLEM) : record.health,
  };
  const isNews =
    next.systemId !== record.systemId || next.systemLink !== record.systemLink || next.health !== record.health;
  if (isNews) await node.note(next);
}

const MOST_PROBLEM = 500;

/**
 * A node without a record may run foreign workloads, which Berth must not switch off: it waits for an operator. So does
 * one that Berth managed before all its records were lost, because its disk may hold a stopped instance.
 *
 * @throws BerthError `aborted / epoch_superseded`: another agent has it.
 */
async function firstRecord(
  { config, clock, log, drainEnd }: NodeStoreParts,
  { epoch }: HostLease,
  { name: host, resourceClass, traits = [], systemId = '', systemLink = '', problem = '' }: NodeDescription,
  controller: NodeController,
): Promise<NodeRecord> {
  const unseen: NodeRecord = {
    host,
    pool: config.pool,
    resourceClass,
    traits,
    state: 'enroll',
    stateBefore: undefined,
    reason: '',
    isOn: false,
    bootDevice: 'Hdd',
    instanceUuid: '',
    step: '',
    updatedAtMs: clock.now(),
    lastOrder: undefined,
    journal: '',
    systemId,
    health: problem.slice(0, MOST_PROBLEM),
    contactedAtMs: 0,
    tellsBoot: false,
    systemLink,
  };
  // A service says itself which of its nodes are managed.
  if (config.nodeStart === 'enroll' || controller.service) return unseen;
  try {
    // One failed answer must not leave a node to an operator.
    const trying = { clock, pollMs: config.nodePollMs, awayMs: FIRST_LOOKS * config.nodePollMs, note() {} };
    const look = async () => {
      await controller.claim(epoch, { systemId: systemId || undefined, isNew: true });
      return controller.status();
    };
    const { isOn, systemId: shown = '' } = await patiently(trying, drainEnd, look);
    const unknown = { ...unseen, systemId: systemId || shown, contactedAtMs: clock.now() };
    return isOn
      ? { ...unknown, isOn, reason: 'it was on when it was seen for the first time' }
      : { ...unknown, state: 'available' };
  } catch (thrown) {
    if (isFenced(thrown)) throw thrown;
    const error = BerthError.from(thrown);
    log.warn({ event: 'node_not_seen', host, error }, 'inspection of a new node failed: it waits for an operator');
    return { ...unseen, reason: error.message.slice(0, MOST_PROBLEM), health: error.message.slice(0, MOST_PROBLEM) };
  }
}
