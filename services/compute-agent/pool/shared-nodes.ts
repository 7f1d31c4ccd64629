import type { NodeRecord } from '#libs/domain/nodes/node';
import type { Ring } from '#libs/ring/ring';
import { keysToGiveUp } from '#libs/ring/shares';
import type { Log } from '#libs/runtime/log';
import { type ManagedHost, openHost } from '../carried-hosts';
import type { NodeController } from '../drivers/baremetal/node-controller';
import type { RememberedNode } from '../drivers/baremetal/remembered-node';
import { notSurelyHeld } from '../drivers/fenced';
import type { HostLease } from '../holding/host-lease';
import type { Host, HostParts } from '../host/host';
import { leaseMsOf } from '../options';
import { takeBuild } from '../orders/take-build';
import type { LostReports } from '../reports/report-lost';
import { claimEarly } from './claim-early';
import { keepCompared } from './keep-compared';
import type { NodeStoreParts } from './node-store';
import { noticeOthers } from './notice-others';
import { type GrantedNode, openNode, type PoolNodes } from './open-node';
import { undoLeft } from './undo-left';

/** The nodes of a pool; this run holds those that the ring assigns to it. */
export interface SharedNodes {
  readonly names: readonly string[];
  /** True when the ring assigns a node to this run. */
  readonly isWanted: (host: string) => boolean;
  /** True when the ring assigns a node to another, and is current: the membership was renewed within a lease. */
  readonly isOthers: (host: string) => boolean;
  /** Called with the ring after each renewal, changed or not. */
  setRing(ring: Ring): void;
  /** The held nodes to give up now. */
  toGiveUp(carried: readonly ManagedHost[]): ManagedHost[];
  /**
   * Opens a granted node, and continues its unfinished work. `known` is its stored record. A node that is lost
   * meanwhile is closed again.
   *
   * @throws BerthError `failed_precondition / epoch_unknown` then; like `nodeWriter`.
   */
  open(one: ManagedHost, known: NodeRecord | undefined): Promise<void>;
  /** Stops all work on a node here: another run holds it, or may. The next holder continues unfinished work. */
  close(one: ManagedHost): void;
}

export type SharedNodesParts = NodeStoreParts &
  Pick<HostParts, 'counters'> & {
    readonly nodes: PoolNodes;
    readonly lostReports: LostReports;
    /** Releases a node at the store, and requests this run's nodes again. */
    readonly giveUp: (one: ManagedHost) => void;
  };

export function shareNodes(parts: SharedNodesParts): SharedNodes {
  const { nodes, log, drainEnd, lostReports } = parts;
  const byName = new Map(nodes.descriptions.map((description) => [description.name, description]));
  const names = [...byName.keys()];
  const claim = claimEarly(parts);
  const remembered = new Map<string, RememberedNode>();
  void keepCompared(parts, remembered);
  const health = watchControllers(parts, (host) => remembered.get(host)?.record.contactedAtMs ?? 0);

  async function open(one: ManagedHost, known: NodeRecord | undefined): Promise<void> {
    await one.closed;
    const { lease, identity } = one;
    const description = byName.get(identity.name);
    if (one.host || !lease.isHeld || !description) return;
    const { epoch } = lease;
    const closing = new AbortController();
    const isOver = () => closing.signal.aborted || !lease.isCertainBy(epoch);
    const around = {
      ...parts,
      proof: nodes.proof,
      onHealth: health.note,
      isOver,
      drainEnd: AbortSignal.any([drainEnd, closing.signal]),
    };
    one.closing = closing;
    const controller = controllerOf(parts, one, closing.signal);
    const opened = await openWith(
      one,
      around,
      { lostReports, remembered },
      { description, controller, stored: known },
    ).catch(async (thrown: unknown) => {
      await controller.close();
      throw thrown;
    });
    const { host } = opened;
    host.driver.onCapacityChange?.(() => host.reportNow());
    one.known = { node: opened.node, epoch };
    if (isOver()) {
      close(one);
      throw notSurelyHeld(lease.host, epoch);
    }
    claimOpen(lease, opened.node, controller, around.drainEnd);
    carryOn(host, opened.node, log);
    void undoLeft(host, opened.node);
    const stopListening = lease.onRenewed((wasInDoubt) => {
      // Failed writes are repeated once reports arrive again.
      void opened.node.written().catch(() => {});
      if (!wasInDoubt) return;
      claimOpen(lease, opened.node, controller, around.drainEnd);
      // A build that was ended in doubt was not ordered elsewhere.
      carryOn(host, opened.node, log);
    });
    closing.signal.addEventListener('abort', stopListening, { once: true });
  }

  /**
   * Claims a node at its controller, as soon as it is held and whenever its lease becomes certain again. If another
   * agent has claimed it there, the node is not this run's, whatever the store says: the store has lost that grant. So
   * the node is given up, then or when an order detects it, and its next grant has a later epoch.
   */
  function claimOpen(lease: HostLease, node: RememberedNode, controller: NodeController, signal: AbortSignal) {
    // A node in `enroll` takes no orders, so none can be late.
    if (node.record.state !== 'enroll') void claim(lease, controller, signal, () => node.record.systemId);
  }

  function close(one: ManagedHost): void {
    remembered.delete(one.lease.host);
    health.forget(one.lease.host);
    stopWork(one, log);
  }

  return {
    names,
    ...shareOfRing(parts, names),
    open,
    close,
  };
}

/** The controller of a node, which is given up when another agent has claimed it there. */
function controllerOf({ nodes, log, giveUp }: SharedNodesParts, one: ManagedHost, closing: AbortSignal) {
  const { name: host } = one.identity;
  return noticeOthers(nodes.controller(host), (error) => {
    if (closing.aborted) return;
    log.warn({ event: 'node_claimed_by_other', host, error }, 'another agent has claimed this node');
    giveUp(one);
  });
}

async function openWith(
  one: ManagedHost,
  around: Parameters<typeof openNode>[0] & Omit<HostParts, 'driver' | 'facts' | 'journal' | 'lease'>,
  { lostReports, remembered }: { readonly lostReports: LostReports; readonly remembered: Map<string, RememberedNode> },
  granted: Omit<GrantedNode, 'own'>,
) {
  const opened = await openNode(around, one.lease, { ...granted, own: one.known });
  one.journal = opened.journal;
  remembered.set(one.lease.host, opened.node);
  const host = await openHost(one, { ...around, driver: opened.openDriver }, lostReports);
  one.host = host;
  return { node: opened.node, host };
}

function stopWork(one: ManagedHost, log: Log): void {
  const { host, reports, closing } = one;
  one.host = undefined;
  one.reports = undefined;
  if (!host) return;
  host.builds.handBack();
  closing.abort();
  reports?.end();
  host.forget();
  one.closed = host.driver.close().catch((error: unknown) => {
    log.warn({ event: 'driver_not_closed', host: one.lease.host, error }, 'node driver not closed');
  });
}

/** Continues the builds of an earlier run, until each has ended. */
function carryOn(host: Host, node: RememberedNode, log: Log): void {
  for (const order of host.carriedOn.values()) {
    const fields = { host: host.facts.name, instance_uuid: order.instanceUuid, request_id: order.requestId };
    log.info({ event: 'build_carried_on', ...fields }, 'resuming a build that an earlier run began');
    takeBuild(host, order)
      .then(async (settlement) => {
        if (settlement.kind !== 'ack') return;
        host.carriedOn.delete(order.instanceUuid);
        await undoLeft(host, node);
      })
      .catch((error: unknown) => {
        log.error({ event: 'build_not_carried_on', ...fields, error }, 'build not resumed');
      });
  }
}

/** The nodes that the ring assigns to this run. */
function shareOfRing(
  { config, clock }: SharedNodesParts,
  names: readonly string[],
): Pick<SharedNodes, 'isWanted' | 'isOthers' | 'setRing' | 'toGiveUp'> {
  let ring: Ring | undefined;
  let ringUntilMs = 0;
  let wanted: ReadonlySet<string> = new Set();
  return {
    isWanted: (host) => wanted.has(host),
    isOthers: (host) => clock.elapsed() < ringUntilMs && !wanted.has(host),
    setRing(next) {
      ringUntilMs = clock.elapsed() + leaseMsOf(config);
      if (next === ring) return;
      ring = next;
      wanted = new Set(names.filter((name) => next.ownerOf(name) === config.host));
    },
    toGiveUp(carried) {
      if (!ring) return [];
      const held = new Map(carried.filter(({ lease }) => lease.isHeld).map((one) => [one.lease.host, one]));
      const holding = { name: config.host, held: [...held.keys()], keyCount: names.length, slack: config.ringSlack };
      const given = keysToGiveUp(ring, holding).map((name) => held.get(name));
      return given.filter((one) => one !== undefined).filter(isIdle);
    },
  };
}

/** Tells operators of controllers that do not serve. */
function watchControllers({ counters, log }: SharedNodesParts, contactedAtMs: (host: string) => number) {
  const away = new Set<string>();
  counters.watchSilence(() => [...away].map(contactedAtMs));
  return {
    note: (host: string, health: string, reason: string): void => {
      const isBack = away.has(host) && health === '';
      if (health === '') away.delete(host);
      else away.add(host);
      counters.controllersAway.set(away.size);
      if (health !== '') {
        counters.controllerFailures.inc({ reason });
        log.warn({ event: 'controller_away', host, reason, health }, 'node controller unavailable');
      } else if (isBack) log.info({ event: 'controller_back', host }, 'node controller available again');
    },

    forget(host: string): void {
      if (away.delete(host)) counters.controllersAway.set(away.size);
    },
  };
}

/** A node with work in progress stays until that ends: handing it over costs more than waiting. */
function isIdle({ host }: ManagedHost): boolean {
  if (!host) return false;
  const { ledger, driver } = host;
  const atWork = ledger.count('building') + ledger.count('destroying') + ledger.count('stopping');
  return atWork === 0 && driver.isBusy?.() !== true;
}
