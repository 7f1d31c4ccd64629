import limitConcurrency from 'p-limit';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { inventory, type Resources } from '#libs/domain/inventory';
import type { BootDevice, LastOrder, NodeOperation, NodeRecord } from '#libs/domain/nodes/node';
import { isOffered, type NodeVerb, nextNodeState, nodeChanged, requirePowerFree } from '#libs/domain/nodes/node-state';
import type { Log } from '#libs/runtime/log';
import type { Driver, NodeOrder } from '../driver';
import { isFenced, notSurelyHeld } from '../fenced';
import type { BootProof } from './boot-watch';
import type { NodeController } from './node-controller';
import { watchHealth } from './node-health';
import { bootOnce, type NodeWorkParts, patiently, powerOff, powerOn, shutDown } from './node-work';
import type { RememberedNode } from './remembered-node';

export interface BaremetalParts {
  readonly node: RememberedNode;
  readonly controller: NodeController;
  /** The epoch of the node's lease. */
  readonly epoch: number;
  /** True while nobody else can hold the node. */
  readonly isCertain: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly offers: 'class' | 'both' | 'machine';
  /** The resources of the machine; an instance gets all of them. */
  readonly resources: Resources;
  /** Interval of polls while a node boots or ends. */
  readonly pollMs: number;
  /** Time limit of a graceful shutdown before the power is cut. */
  readonly shutdownMs: number;
  /** True when a node boots its cleaning utilities before the next instance gets it. */
  readonly cleans: boolean;
  /** Time limit of a power switch, and of a boot. */
  readonly bootTimeoutMs: number;
  /** Time limit of a controller's absence; then the work in progress fails. */
  readonly awayMs: number;
  /** Reports from the booted system; without it the controller's word counts. */
  readonly proof?: BootProof | undefined;
  /** Delay of the first power poll while idle, and the interval; default: no polls. */
  readonly sync?: { readonly firstMs: number; readonly everyMs: number };
  /** Called with the reason when the controller fails, and with '' when it works again. */
  readonly onHealth?: (health: string, reason: string) => void;
}

/**
 * Fields written for an operator's order: `begun` before the controller gets it, so that the node's next manager sees a
 * copy as late; `done` with its last change.
 */
interface OrderNotes {
  readonly begun: Pick<NodeRecord, 'lastOrder'>;
  readonly done: Pick<NodeRecord, 'lastOrder'>;
}

/** Limit of the stored characters of a failed order's message. */
const MOST_MESSAGE = 500;

/**
 * A node of bare metal: the host has all of it or nothing. It offers 1 of its class while it is free for an instance or
 * has one; otherwise that 1 is reserved, as in Nova's Ironic driver (Placement knows no total of 0).
 *
 * Every step is recorded before it is taken (`RememberedNode`), and ordered under the epoch of the node's lease. So the
 * node's next agent continues where this one stopped, and this one can't order anything any more.
 */
export async function openBaremetalDriver(parts: BaremetalParts): Promise<Driver> {
  const { node, controller, epoch, isCertain, clock, log, offers, resources, pollMs, shutdownMs, cleans } = parts;
  const closing = new AbortController();
  const { bootTimeoutMs, awayMs, proof, sync, onHealth } = parts;
  /** A power order granted in one state must not run in the next: the node may change hands in between. */
  const takeTurn = limitConcurrency(1);
  let cleaning: Promise<void> | undefined;
  let interruption = new AbortController();
  let onCapacityChange = () => {};
  node.onStateChange(() => onCapacityChange());

  const health = watchHealth({ node, clock, onHealth, onRefusal: () => onCapacityChange() });
  const work: NodeWorkParts = {
    node,
    controller,
    clock,
    pollMs,
    bootTimeoutMs,
    awayMs,
    proof,
    note: (doubt) => health.note(doubt),
  };

  /** / A replaced machine takes no orders. */
  const claim = () => controller.claim(epoch, { systemId: node.record.systemId, isCertain });
  const claimPatiently = (signal: AbortSignal) => patiently(work, signal, claim);

  async function deploy(uuid: string, signal: AbortSignal): Promise<void> {
    const { state, instanceUuid } = node.record;
    if (state === 'active' && instanceUuid === uuid) return;
    if (state !== 'deploying' || instanceUuid !== uuid) {
      // A controller that refuses is detected before anything begins that it would have to undo.
      await claimPatiently(signal);
      await takeTurn(() => node.move('deploy', { instanceUuid: uuid, step: '' }));
    }
    await claimPatiently(signal);
    await bootOnce(work, 'Pxe', signal);
    await patiently(work, signal, () => controller.setBootDevice('Hdd', false));
    await node.move('deployed', { step: '', isOn: true, bootDevice: 'Hdd' });
  }

  async function undeploy(uuid: string): Promise<void> {
    // The instance may be gone here and still in the store's record, where the next manager would find it.
    if (node.record.instanceUuid !== uuid) return node.written();
    await takeTurn(async () => {
      await claim();
      await powerOff(work, closing.signal);
      const { state, stateBefore } = node.record;
      const next = { instanceUuid: '', step: '', isOn: false };
      // It is cleaned after its maintenance.
      await move('undeploy', state === 'maintenance' && stateBefore ? { ...next, stateBefore: 'cleaning' } : next);
    });
  }

  /** Changes the state even when the write fails: the next change writes both. */
  async function move(verb: NodeVerb, fields?: Partial<NodeRecord>): Promise<void> {
    try {
      await node.move(verb, fields);
    } finally {
      cleanIfDue();
    }
  }

  /**
   * Undoes a failed build completely, though its cause may persist, such as an absent controller. Until then the node
   * stays `deploying`; if another agent takes it over, that one undoes the build.
   */
  async function undeployAtLast(uuid: string, signal: AbortSignal): Promise<void> {
    for (let failures = 0; ; failures++) {
      if (!isCertain()) throw notSurelyHeld(node.record.host, epoch);
      try {
        return await undeploy(uuid);
      } catch (thrown) {
        if (closing.signal.aborted || signal.reason === 'handed_back' || isFenced(thrown)) throw thrown;
        const fields = { event: 'build_not_undone', host: node.record.host, instance_uuid: uuid, error: thrown };
        if (failures === 0) log.warn(fields, 'a build that failed could not be undone, retrying');
        await sleep(clock, pollMs, closing.signal);
      }
    }
  }

  function cleanIfDue(): void {
    if (node.record.state !== 'cleaning' || cleaning) return;
    interruption = new AbortController();
    cleaning = clean(AbortSignal.any([closing.signal, interruption.signal])).finally(() => {
      cleaning = undefined;
    });
  }

  async function clean(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && node.record.state === 'cleaning') {
      try {
        await cleanOnce(signal);
      } catch (thrown) {
        const error = BerthError.from(thrown);
        if (signal.aborted || error.reason === 'epoch_superseded' || node.record.state !== 'cleaning') return;
        // The lease may be renewed once reports arrive again, and nobody else would clean the node.
        if (isFenced(error) || !isCertain()) await sleep(clock, pollMs, signal);
        else await cleaningFailed(error);
      }
    }
  }

  async function cleanOnce(signal: AbortSignal): Promise<void> {
    await claimPatiently(signal);
    if (cleans) await bootOnce(work, 'Utilities', signal);
    await powerOff(work, signal);
    if (!signal.aborted && node.record.state === 'cleaning') {
      await node.move('cleaned', { step: '', isOn: false, bootDevice: 'Hdd' });
    }
  }

  async function cleaningFailed(error: BerthError): Promise<void> {
    log.error({ event: 'cleaning_failed', host: node.record.host, error }, 'a node could not be cleaned');
    health.note('');
    await node.move('fail', { reason: `cleaning failed: ${error.message}`, step: '' }).catch(() => {});
  }

  /**
   * Executes an operator's power or boot order, unless Berth itself works on the node. All that this run knows is
   * written with the order first: the order must not rest on state unknown to the next manager. The state is checked
   * before the write, so that a build that ends meanwhile is not written with it.
   */
  function whilePowerIsFree({ begun }: OrderNotes, action: () => Promise<void>): Promise<void> {
    return takeTurn(async () => {
      requirePowerFree(node.record.state);
      await node.change(begun);
      await action();
    });
  }

  function operatePower(order: 'on' | 'off' | 'reboot', notes: OrderNotes): Promise<void> {
    return whilePowerIsFree(notes, () => setPower(order, notes.done));
  }

  async function setPower(order: 'on' | 'off' | 'reboot', fields: Partial<NodeRecord> = {}): Promise<void> {
    await claim();
    await controller.setPower(order);
    await node.change({ isOn: order !== 'off', ...fields });
  }

  /** The disk boots each time, any other device once. */
  async function setBootDevice(device: BootDevice): Promise<void> {
    await claim();
    await controller.setBootDevice(device, device !== 'Hdd');
  }

  async function bootInto(device: BootDevice): Promise<void> {
    await setBootDevice(device);
    await setPower((await controller.status()).isOn ? 'reboot' : 'on', { bootDevice: device });
  }

  /**
   * Claims a node that Berth did not manage, which must answer (Ironic's `verifying`); from then on only Berth orders
   * it.
   */
  async function manage({ done }: OrderNotes): Promise<void> {
    const { state, systemId: known, instanceUuid } = node.record;
    nextNodeState(state, 'manage', undefined);
    const isTakenOver = health.isRefused && instanceUuid === '';
    if (state !== 'enroll' && !isTakenOver) return node.move('manage', done);
    // An operator's order accepts the present machine as the node.
    await controller.claim(epoch, { systemId: instanceUuid === '' ? '' : known, isCertain });
    const { isOn, systemId = '' } = await controller.status();
    await node.move('manage', { isOn, systemId: systemId || known, ...done });
  }

  /**
   * Polls the power of an idle node, to show an operator's use of its button, or an absent controller. A concurrent
   * order's state is later and wins.
   */
  async function syncPower(): Promise<void> {
    const isAtWork = () => isBusy() || takeTurn.activeCount + takeTurn.pendingCount > 0;
    const { state, updatedAtMs } = node.record;
    if (state === 'enroll' || isAtWork() || !isCertain()) return;
    try {
      await claim();
      const status = await controller.status();
      const isSame = node.record.updatedAtMs === updatedAtMs && !isAtWork();
      if (!isSame) return;
      health.heard(status);
      if (status.isOn === node.record.isOn || status.isSwitching) return;
      log.info(
        { event: 'power_changed', host: node.record.host, is_on: status.isOn },
        'the power of a node was switched',
      );
      await node.change({ isOn: status.isOn });
    } catch (thrown) {
      if (!isFenced(thrown) && !closing.signal.aborted) health.failed(BerthError.from(thrown));
    }
  }

  async function keepSynced({ firstMs, everyMs }: NonNullable<typeof sync>): Promise<void> {
    for (let pauseMs = firstMs; ; pauseMs = everyMs) {
      await sleep(clock, pauseMs, closing.signal);
      if (closing.signal.aborted) return;
      await syncPower();
    }
  }

  const isBusy = () => node.record.state === 'deploying' || cleaning !== undefined;

  const operations: Readonly<Record<NodeOperation, (order: NodeOrder, notes: OrderNotes) => Promise<void>>> = {
    manage: (_, notes) => manage(notes),
    provide: (_, { done }) => move('provide', { step: '', ...done }),
    clean: (_, { done }) => move('clean', { step: '', ...done }),
    rescue: (_, { begun, done }) =>
      takeTurn(async () => {
        await node.move('rescue', begun);
        await bootInto('Pxe');
        await node.change(done);
      }),
    unrescue: (_, { begun, done }) =>
      takeTurn(async () => {
        nextNodeState(node.record.state, 'unrescue', undefined);
        await node.change(begun);
        await bootInto('Hdd');
        await node.move('unrescue', done);
      }),
    /**
     * In maintenance the operator owns the power: a cleaning would switch it, and take the operator's boot for its own.
     */
    async maintain({ reason }, { done }) {
      const { state: stateBefore } = node.record;
      try {
        await node.move('maintain', { reason, stateBefore, ...done });
      } finally {
        interruption.abort();
        await cleaning;
      }
    },
    unmaintain: (_, { done }) => move('unmaintain', { step: '', ...done }),
    power_on: (_, notes) => operatePower('on', notes),
    power_off: (_, notes) => operatePower('off', notes),
    reboot: (_, notes) => operatePower('reboot', notes),
    set_boot_device: ({ bootDevice = 'Hdd' }, notes) =>
      whilePowerIsFree(notes, async () => {
        await setBootDevice(bootDevice);
        await node.change({ bootDevice, ...notes.done });
      }),
  };

  cleanIfDue();
  if (sync) void keepSynced(sync);
  return {
    carriesOn: true,

    capacity() {
      const { resourceClass, traits, state, instanceUuid } = node.record;
      // A controller that refuses would fail the build.
      const isFree = instanceUuid !== '' || (isOffered(state) && !health.isRefused);
      const whole = (total: number) => ({
        ...inventory(total),
        reserved: isFree ? 0 : total,
        minUnit: total,
        maxUnit: total,
      });
      const amounts = offers === 'class' ? {} : resources;
      const ofClass = offers === 'machine' || resourceClass === '' ? {} : { [resourceClass]: 1 };
      const all = Object.entries({ ...amounts, ...ofClass });
      const inventories = Object.fromEntries(all.map(([name, total]) => [name, whole(total)]));
      return { inventories, traits, nested: [], capabilities: {} };
    },

    async build({ uuid }, signal) {
      try {
        await deploy(uuid, AbortSignal.any([signal, closing.signal]));
      } catch (thrown) {
        // The next manager continues it.
        if (signal.reason === 'handed_back' || closing.signal.aborted || isFenced(thrown)) throw thrown;
        await undeployAtLast(uuid, signal);
        throw thrown;
      }
    },

    destroy: (uuid) => undeploy(uuid),

    async stop(uuid) {
      if (node.record.instanceUuid !== uuid) return;
      await claimPatiently(closing.signal);
      await shutDown(work, shutdownMs, closing.signal);
      await node.change({ isOn: false });
    },

    async start(uuid) {
      if (node.record.instanceUuid !== uuid) {
        throw new BerthError('not_found', 'instance_gone', `instance ${uuid} is not on node ${node.record.host}`);
      }
      await claimPatiently(closing.signal);
      await powerOn(work, closing.signal);
      await node.change({ isOn: true });
    },

    async list() {
      const { instanceUuid: id, resourceClass, state } = node.record;
      if (id === '' || state === 'deploying') return [];
      return [{ id, resources: offers === 'machine' ? resources : { [resourceClass]: 1 } }];
    },

    /** A node that loses its power keeps its instance. */
    onExit() {},

    onCapacityChange(listener) {
      onCapacityChange = listener;
    },

    isBusy,

    async operate(order) {
      const { verb, restsOnUpdatedAtMs } = order;
      const { host, updatedAtMs } = node.record;
      if (restsOnUpdatedAtMs !== 0 && restsOnUpdatedAtMs !== updatedAtMs) throw nodeChanged(host);
      const begun: LastOrder = {
        verb,
        restsOnUpdatedAtMs,
        begunAtMs: clock.now(),
        outcome: 'begun',
        reason: '',
        message: '',
      };
      const notes = { begun: { lastOrder: begun }, done: { lastOrder: { ...begun, outcome: 'done' } } } as const;
      try {
        await operations[verb](order, notes);
      } catch (thrown) {
        const { reason, message } = BerthError.from(thrown);
        const failed: LastOrder = { ...begun, outcome: 'failed', reason, message: message.slice(0, MOST_MESSAGE) };
        await node.change({ lastOrder: failed }).catch(() => {});
        throw thrown;
      }
    },

    async close() {
      closing.abort();
      await cleaning;
      await controller.close();
    },
  };
}
