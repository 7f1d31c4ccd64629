import { ACK, drop, type IncomingMessage, POSTPONE, REQUEUE, type Settlement, type Subscription } from '#libs/bus/port';
import { unknownType } from '#libs/bus/typed-calls';
import { askHostCodec, buildInstanceCodec, type DestroyInstance, destroyInstanceCodec } from '#libs/contracts/compute';
import { type Identity, nameOf, speaksForServiceHost } from '#libs/contracts/identity';
import { operateNodeCodec } from '#libs/contracts/nodes';
import { setPowerStateCodec } from '#libs/contracts/power';
import { agentQueue } from '#libs/contracts/queues';
import { sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { PowerState } from '#libs/domain/instance';
import { type HostLease, isOfEarlierEpoch } from '../holding/host-lease';
import { decodeBuildOrder } from '../host/build-order';
import { type Host, retryUntilDrainEnd } from '../host/host';
import { answerHost } from './answer-host';
import { HeldOrders } from './held-orders';
import { takeBuild } from './take-build';
import { takeDestroy } from './take-destroy';
import { takePowerState } from './take-power-state';

export type OrderQueueParts = Pick<Host, 'bus' | 'config' | 'clock' | 'random' | 'log' | 'drainEnd' | 'counters'>;

/** Fields of every order. */
type Order = Pick<DestroyInstance, 'instanceUuid' | 'host' | 'attempt' | 'claimToken' | 'epoch'> & {
  readonly deadlineAtMs?: number;
  readonly powerState?: PowerState;
  readonly migrationUuid?: string | undefined;
};

/** A host of the process: its lease, and the open host once it was held. */
export interface CarriedHost {
  readonly lease: HostLease;
  host: Host | undefined;
  /** For a node that several agents share: true when the ring certainly assigns it to another. */
  readonly isOthers?: (() => boolean) | undefined;
}

/** AMQP counts a consumer's unacked messages in 16 bits. */
const MAX_PREFETCH = 65_535;

/** Pause before an order for a host that is not held is requeued. */
const HOLD_BACK_MS = 1_000;

/** Time limit of requeuing an order for a host that is not held: longer than a lease, and than most outages. */
export const MAX_PUT_BACK_MS = 3_600_000;

/** Why an order is requeued: its host is not held, or its work is unfinished. */
type PutBackReason = 'not_held' | 'in_work';

/**
 * The order queue of a service host, the only one of its process: takes the orders of all its hosts and gives each to
 * its host. An order for an unknown host is dead-lettered; one for a host that another run may hold is requeued, since
 * that run's process consumes the same queue.
 *
 * All hosts share one prefetch, `prefetch` times the number of hosts: builds waiting on one host delay no order of
 * another, and a destroy overtakes the builds before it.
 */
export class OrderQueue {
  readonly #parts: OrderQueueParts;
  readonly #hosts: ReadonlyMap<string, CarriedHost>;
  readonly #held: HeldOrders;
  #subscription: Subscription | undefined;
  #isWanted = false;
  #consuming: Promise<void> | undefined;

  constructor(parts: OrderQueueParts, hosts: readonly CarriedHost[]) {
    this.#parts = parts;
    this.#held = new HeldOrders(parts.clock, parts.config.holdMs);
    this.#hosts = new Map(hosts.map((carried) => [carried.lease.host, carried]));
  }

  /** Resolves when the queue exists, or draining has ended. */
  async declare(): Promise<void> {
    const { bus, config } = this.#parts;
    const declare = () => bus.declare(agentQueue(config.host));
    await this.#retry(declare, 'order_queue_not_declared', 'order queue not declared, retrying');
  }

  /** Resolves when orders are taken, or draining has ended. */
  async consume(): Promise<void> {
    this.#isWanted = true;
    if (this.#subscription !== undefined) return;
    this.#consuming ??= this.#consume().finally(() => {
      this.#consuming = undefined;
    });
    await this.#consuming;
  }

  async #consume(): Promise<void> {
    const { bus, config, drainEnd } = this.#parts;
    const prefetch = Math.min(MAX_PREFETCH, config.prefetch * this.#hosts.size);
    const consume = async () => {
      const take = (message: IncomingMessage) => this.#take(message);
      const subscription = await bus.consume(agentQueue(config.host), take, { prefetch });
      if (drainEnd.aborted || !this.#isWanted) await subscription.cancel();
      else this.#subscription = subscription;
    };
    await this.#retry(consume, 'order_queue_not_consumed', 'order queue not consumed, retrying');
  }

  get isConsuming(): boolean {
    return this.#subscription !== undefined;
  }

  /** Takes no more orders; resolves when all taken ones are settled. */
  async cancel(): Promise<void> {
    this.#isWanted = false;
    const subscription = this.#subscription;
    this.#subscription = undefined;
    await subscription?.cancel();
  }

  async #take(message: IncomingMessage): Promise<Settlement> {
    const { type, body, identity } = message;
    if (identity.kind !== 'service' && !speaksForServiceHost(identity, this.#parts.config.host))
      return drop(foreignOrder(identity));
    switch (type) {
      case buildInstanceCodec.type:
        return this.#dispatch(message, () => decodeBuildOrder(body), takeBuild);
      case destroyInstanceCodec.type:
        return this.#dispatch(message, () => destroyInstanceCodec.decode(body), takeDestroy);
      case setPowerStateCodec.type:
        return this.#dispatch(message, () => setPowerStateCodec.decode(body), takePowerState);
      case operateNodeCodec.type:
        return this.#operate(message);
      case askHostCodec.type:
        return this.#answer(message);
      default:
        return drop(unknownType(message));
    }
  }

  /** An agent that does not certainly hold the host is silent: nobody waits for an answer that comes later. */
  async #answer({ body }: IncomingMessage): Promise<Settlement> {
    try {
      const ask = askHostCodec.decode(body);
      const carried = this.#hosts.get(ask.host);
      const isHeld = carried?.lease.isCertain && carried.lease.isHeldBy(ask.epoch);
      if (isHeld && carried.host) await answerHost(carried.host, ask);
      return ACK;
    } catch (thrown) {
      const error = BerthError.from(thrown);
      if (error.code === 'invalid_argument') return drop(error);
      this.#parts.log.warn({ event: 'host_not_answered', error }, 'host did not confirm a selection');
      return ACK;
    }
  }

  /** The node's record shows the outcome; the operator repeats an order that can't be executed now. */
  async #operate(message: IncomingMessage): Promise<Settlement> {
    const { log } = this.#parts;
    try {
      const order = operateNodeCodec.decode(message.body);
      const carried = this.#hosts.get(order.host);
      const host = carried && (await this.#heldHost(carried, order.epoch));
      if (carried && !host && !isLeft(carried)) return this.#giveBack(message, carried, { ...order, instanceUuid: '' });
      if (!host?.driver.operate)
        throw new BerthError('not_found', 'not_carried', `node ${order.host} is not held here`);
      await host.locks.run(order.host, async () => host.driver.operate?.(order));
      log.info({ event: 'node_operated', host: order.host, verb: order.verb }, 'operation on a node done');
      return ACK;
    } catch (thrown) {
      const error = BerthError.from(thrown);
      if (error.code === 'invalid_argument' || error.code === 'permission_denied') return drop(error);
      log.warn({ event: 'node_not_operated', error }, 'operation on a node failed');
      return ACK;
    }
  }

  /** Dead-letters undecodable orders, and those for unknown hosts; their conductors notice by their deadlines. */
  async #dispatch<T extends Order>(
    message: IncomingMessage,
    decode: () => T,
    take: (host: Host, order: T) => Promise<Settlement>,
  ): Promise<Settlement> {
    const { type } = message;
    let order: T;
    try {
      order = decode();
    } catch (thrown) {
      return drop(BerthError.from(thrown));
    }
    const carried = this.#hosts.get(order.host);
    if (!carried) {
      const why = `service host ${this.#parts.config.host} does not carry host ${order.host}`;
      return drop(new BerthError('not_found', 'not_carried', why));
    }
    const host = await this.#heldHost(carried, order.epoch);
    if (!host) return isLeft(carried) ? this.#leaveToOthers(type, order) : this.#giveBack(message, carried, order);
    if (isOfEarlierManager(carried, type, order)) return this.#leaveToOthers(type, order);
    const settlement = await this.#held.settle(keyOf(type, order), () => take(host, order));
    const isUnsettled = settlement.kind === 'postpone' || settlement.kind === 'requeue';
    if (isUnsettled) this.#countPutBack('in_work');
    return settlement;
  }

  /** Requeues an order until some run certainly holds the host; after too long it ends with a reason. */
  #giveBack(
    { type, postponedForMs }: IncomingMessage,
    carried: CarriedHost,
    order: Pick<Order, 'host' | 'instanceUuid'>,
  ): Settlement {
    const { log, drainEnd } = this.#parts;
    if (drainEnd.aborted) return REQUEUE;
    if (postponedForMs < MAX_PUT_BACK_MS) {
      this.#countPutBack('not_held');
      return POSTPONE;
    }
    if (carried.isOthers) return this.#leaveToOthers(type, order);
    const { host, instanceUuid } = order;
    const message = `host ${host} was not held for ${MAX_PUT_BACK_MS / 60_000} minutes; its conductor gives the order again`;
    log.error({ event: 'order_not_taken', type, host, instance_uuid: instanceUuid }, message);
    return drop(new BerthError('failed_precondition', 'host_not_held', message, { details: { host } }));
  }

  #countPutBack(reason: PutBackReason): void {
    this.#parts.counters.ordersPutBack.inc({ reason });
  }

  /** Its conductor repeats it to the holder that reports it as undone. */
  #leaveToOthers(type: string, { host, instanceUuid }: Pick<Order, 'host' | 'instanceUuid'>): Settlement {
    const { log, counters } = this.#parts;
    counters.ordersMoved.inc();
    const fields = { event: 'order_moved', type, host, instance_uuid: instanceUuid };
    log.info(fields, 'order for a node dropped: another agent manages it now');
    return ACK;
  }

  /** The host once this run certainly holds it, by the order's epoch or a later one; undefined otherwise. */
  async #heldHost(carried: CarriedHost, epoch: number): Promise<Host | undefined> {
    const { lease } = carried;
    if (!lease.isCertain || !carried.host) await this.#holdBack(lease);
    if (!lease.isCertain) return undefined;
    return lease.isHeldBy(epoch) ? carried.host : undefined;
  }

  /** Waits at most until the next accepted report, so that waiting orders run before the host reports much more. */
  async #holdBack(lease: HostLease): Promise<void> {
    const { clock, drainEnd } = this.#parts;
    const waiting = new AbortController();
    const endWaiting = lease.onRenewed(() => waiting.abort());
    await sleep(clock, HOLD_BACK_MS, AbortSignal.any([drainEnd, waiting.signal]));
    endWaiting();
  }

  async #retry(action: () => Promise<void>, event: string, problem: string): Promise<void> {
    const { log, config } = this.#parts;
    const warn = (error: unknown) => log.warn({ event, service_host: config.host, error }, problem);
    await retryUntilDrainEnd(this.#parts, action, warn);
  }
}

/**
 * True when another agent has a shared node now: unlike with a process's own hosts, the next holder consumes from
 * another queue.
 *
 * The naive way is to drop the orders of nodes that the ring assigns to others as soon as the lease is uncertain. The
 * lease may be renewed all the same, and the run keeps the node: then an acked destroy is never executed, and a build
 * in progress has no owner. So orders wait until the lease is declared lost and the ring is current: they run when
 * reports arrive again, or are dropped when another agent has the node. Nor does the ring alone prove that: within its
 * slack an agent keeps nodes that the ring assigns to this run. The store names another holder when this run requests
 * the node. The cost is one delivery per order and `HOLD_BACK_MS` meanwhile.
 */
function isLeft({ isOthers, lease }: CarriedHost): boolean {
  return isOthers !== undefined && !lease.isHeld && (isOthers() || lease.isOthers);
}

/** True when a shared node has had another manager since the order was given. A destroy is valid under any manager. */
function isOfEarlierManager({ isOthers, lease }: CarriedHost, type: string, { epoch }: Order): boolean {
  return isOthers !== undefined && type !== destroyInstanceCodec.type && isOfEarlierEpoch(epoch, lease.epoch);
}

/** Identifies an order across requeues. */
function keyOf(type: string, order: Order): string {
  const { instanceUuid, host, attempt, claimToken, deadlineAtMs = 0, powerState = '', migrationUuid = '' } = order;
  return [type, host, instanceUuid, attempt, claimToken, deadlineAtMs, powerState, migrationUuid].join(' ');
}

/** Services send orders, and the agent itself when it requeues one. */
function foreignOrder(identity: Identity): BerthError {
  return new BerthError('permission_denied', 'foreign_order', `${nameOf(identity)} may not order this agent`);
}
