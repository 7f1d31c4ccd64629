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
  /** By which the node is held. */
  readonly epoch: number;
  /** Whether nobody else can hold it now. */
  readonly isCertain: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly offers: 'class' | 'both' | 'machine';
  /** What the machine has, all of which an instance has. */
  readonly resources: Resources;
  /** How often a node is looked at while it boots or ends. */
  readonly pollMs: number;
  /** How long what runs on a node may take to end before its power is cut. */
  readonly shutdownMs: number;
  /** Whether a node boots its utilities, which remove what was on it, before it is given to somebody else. */
  readonly cleans: boolean;
  /** How long a machine may take to switch, and to boot. */
  readonly bootTimeoutMs: number;
  /** How long a controller may be away until what is in progress has failed. */
  readonly awayMs: number;
  /** What boots says that it did; the controller's word counts unless given. */
  readonly proof?: BootProof | undefined;
  /** How often the power is looked at while nothing is in progress, and the pause before the first time; never unless given. */
  readonly sync?: { readonly firstMs: number; readonly everyMs: number };
  /** Hears why the controller does not serve, or that it serves again (''). */
  readonly onHealth?: (health: string, reason: string) => void;
}

/**
 * What is written of an operator's order: that it has begun, before its controller is given it, so that a copy of it finds the node changed
 * at whoever manages it next; and with its last change that it is done.
 */
interface OrderNotes {
  readonly begun: Pick<NodeRecord, 'lastOrder'>;
  readonly done: Pick<NodeRecord, 'lastOrder'>;
}

/** Characters of the message of an order that failed, as they are kept. */
const MOST_MESSAGE = 500;

/**
 * A node of bare metal: the host has all of it or nothing of it. It offers 1 of its class while it can be given an instance or has
 * one; else all of that is reserved, as in nova's Ironic driver (Placement knows no total of 0).
 *
 * What it does is remembered before it is done (`RememberedNode`), and ordered under the epoch by which the node is held. So
 * when another agent holds the node next, it goes on with what this one began, and this one can do nothing more.
 */
export async function openBaremetalDriver(parts: BaremetalParts): Promise<Driver> {
  const { node, controller, epoch, isCertain, clock, log, offers, resources, pollMs, shutdownMs, cleans } = parts;
  const closing = new AbortController();
  const { bootTimeoutMs, awayMs, proof, sync, onHealth } = parts;
  /** A power order that an operator was granted in one state is not to be done in the next: a node changes hands with it in between. */
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

  /** Another machine in its place is not ordered. */
  const claim = () => controller.claim(epoch, { systemId: node.record.systemId, isCertain });
  const claimPatiently = (signal: AbortSignal) => patiently(work, signal, claim);

  async function deploy(uuid: string, signal: AbortSignal): Promise<void> {
    const { state, instanceUuid } = node.record;
    if (state === 'active' && instanceUuid === uuid) return;
    if (state !== 'deploying' || instanceUuid !== uuid) {
      // A controller that refuses is found out before anything is begun that would have to be undone by it.
      await claimPatiently(signal);
      await takeTurn(() => node.move('deploy', { instanceUuid: uuid, step: '' }));
    }
    await claimPatiently(signal);
    await bootOnce(work, 'Pxe', signal);
    await patiently(work, signal, () => controller.setBootDevice('Hdd', false));
    await node.move('deployed', { step: '', isOn: true, bootDevice: 'Hdd' });
  }

  async function undeploy(uuid: string): Promise<void> {
    // It may be gone here, and not yet in the store: the next manager would have it again.
    if (node.record.instanceUuid !== uuid) return node.written();
    await takeTurn(async () => {
      await claim();
      await powerOff(work, closing.signal);
      const { state, stateBefore } = node.record;
      const next = { instanceUuid: '', step: '', isOn: false };
      // It is cleaned when its maintenance is over.
      await move('undeploy', state === 'maintenance' && stateBefore ? { ...next, stateBefore: 'cleaning' } : next);
    });
  }

  /** What a state calls for is begun, even when it could not be written down: the next change writes it, too. */
  async function move(verb: NodeVerb, fields?: Partial<NodeRecord>): Promise<void> {
    try {
      await node.move(verb, fields);
    } finally {
      cleanIfDue();
    }
  }

  /**
   * Nothing may be left of a build that has failed, and what made it fail may go on: a controller that is away. Until it is back the
   * node is being deployed; should another hold it by then, that one undoes it.
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
        // It may still be held when reports come through again, and nobody else would clean it.
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
   * Executes an operator's order of power or boot device, unless Berth itself works on the node. All that this run knows is written with the
   * order before it is given: it must not rest on what the next manager does not know. The state is checked before that is written: a build
   * that ends meanwhile is not written with it.
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

  /** From its disk it boots each time, from anything else once. */
  async function setBootDevice(device: BootDevice): Promise<void> {
    await claim();
    await controller.setBootDevice(device, device !== 'Hdd');
  }

  async function bootInto(device: BootDevice): Promise<void> {
    await setBootDevice(device);
    await setPower((await controller.status()).isOn ? 'reboot' : 'on', { bootDevice: device });
  }

  /** A node that was not Berth's is claimed first, and must answer (Ironic's `verifying`): from then on nobody else orders it. */
  async function manage({ done }: OrderNotes): Promise<void> {
    const { state, systemId: known, instanceUuid } = node.record;
    nextNodeState(state, 'manage', undefined);
    const isTakenOver = health.isRefused && instanceUuid === '';
    if (state !== 'enroll' && !isTakenOver) return node.move('manage', done);
    // Whichever machine is there now is the node, from an operator's word on.
    await controller.claim(epoch, { systemId: instanceUuid === '' ? '' : known, isCertain });
    const { isOn, systemId = '' } = await controller.status();
    await node.move('manage', { isOn, systemId: systemId || known, ...done });
  }

  /**
   * Looks at a node with which nothing is in progress: what an operator switches at its button is shown, and so is a controller that is
   * away. What an order does meanwhile is the later truth.
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
    /** From then on its power is the operator's: a cleaning would switch it, and take the operator's boot for its own. */
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
        // Whoever manages it next goes on with it.
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
