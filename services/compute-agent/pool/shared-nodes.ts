import type { NodeRecord } from '#libs/domain/nodes/node';
import type { Ring } from '#libs/ring/ring';
import { keysToGiveUp } from '#libs/ring/shares';
import { type Carried, openHost } from '../carried-hosts';
import { notSurelyHeld } from '../drivers/fenced';
import type { HostParts } from '../host/host';
import { takeBuild } from '../orders/take-build';
import type { LostReports } from '../reports/report-lost';
import { claimEarly } from './claim-early';
import type { NodeStoreParts } from './node-store';
import { openNode, type PoolNodes } from './open-node';

/** The nodes of a pool, of which this run holds those that the ring names it for. */
export interface SharedNodes {
  readonly names: readonly string[];
  /** Whether the ring names this run for a node. */
  readonly isWanted: (host: string) => boolean;
  setRing(ring: Ring): void;
  /** Of the nodes that are held, those to give to others now. */
  toGiveUp(carried: readonly Carried[]): Carried[];
  /**
   * Opens a node that was granted, and goes on with what was begun on it. `known` is what the store remembers of it. A node
   * that is lost meanwhile is closed again.
   *
   * @throws BerthError `failed_precondition / epoch_unknown` then; as `nodeWriter`.
   */
  open(one: Carried, known: NodeRecord | undefined): Promise<void>;
  /** Ends all that is done with a node here: another run holds it, or may. What was begun is left for the next. */
  close(one: Carried): void;
}

export type SharedNodesParts = NodeStoreParts &
  Pick<HostParts, 'counters'> & { readonly nodes: PoolNodes; readonly lostReports: LostReports };

export function shareNodes(parts: SharedNodesParts): SharedNodes {
  const { nodes, config, log, drainEnd, lostReports } = parts;
  const byName = new Map(nodes.descriptions.map((description) => [description.name, description]));
  const names = [...byName.keys()];
  const claim = claimEarly(parts);
  let ring: Ring | undefined;
  let wanted: ReadonlySet<string> = new Set();

  async function open(one: Carried, known: NodeRecord | undefined): Promise<void> {
    await one.closed;
    const { lease, identity } = one;
    const description = byName.get(identity.name);
    if (one.host || !lease.isHeld || !description) return;
    const { epoch } = lease;
    const closing = new AbortController();
    const isOver = () => closing.signal.aborted || !lease.isCertainBy(epoch);
    const around = { ...parts, isOver, drainEnd: AbortSignal.any([drainEnd, closing.signal]) };
    one.closing = closing;
    const controller = nodes.controller(identity.name);
    const opened = await openNode(around, lease, description, controller, known ?? one.known);
    one.journal = opened.journal;
    one.host = await openHost(one, { ...around, driver: opened.openDriver }, lostReports);
    const { host } = one;
    host.driver.onCapacityChange?.(() => {
      one.known = opened.node.record;
      host.reportNow();
    });
    one.known = opened.node.record;
    if (isOver()) {
      close(one);
      throw notSurelyHeld(lease.host, epoch);
    }
    // Of a node that is not Berth's yet nothing is ordered, and nothing can be late.
    if (opened.node.record.state !== 'enroll') void claim(lease, controller, around.drainEnd);
    for (const order of host.carriedOn.values()) {
      const fields = { host: lease.host, instance_uuid: order.instanceUuid, request_id: order.requestId };
      log.info({ event: 'build_carried_on', ...fields }, 'goes on with a build that another run began');
      takeBuild(host, order)
        .then((settlement) => {
          if (settlement.kind === 'ack') host.carriedOn.delete(order.instanceUuid);
        })
        .catch((error: unknown) => {
          log.error({ event: 'build_not_carried_on', ...fields, error }, 'could not go on with a build');
        });
    }
  }

  function close(one: Carried): void {
    const { host, reports, closing } = one;
    one.host = undefined;
    one.reports = undefined;
    if (!host) return;
    host.builds.handBack();
    closing.abort();
    reports?.end();
    host.forget();
    one.closed = host.driver.close().catch((error: unknown) => {
      log.warn({ event: 'driver_not_closed', host: one.lease.host, error }, 'the driver of a node was not closed');
    });
  }

  return {
    names,
    isWanted: (host) => wanted.has(host),
    setRing(next) {
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
    open,
    close,
  };
}

/** What is in the middle of something stays until that has ended: to hand it over costs more than to wait. */
function isIdle({ host }: Carried): boolean {
  if (!host) return false;
  const { ledger, driver } = host;
  const atWork = ledger.count('building') + ledger.count('destroying') + ledger.count('stopping');
  return atWork === 0 && driver.isBusy?.() !== true;
}
