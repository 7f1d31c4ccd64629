import { BerthError } from '#libs/domain/errors';
import type { BootDevice, LastOrder, NodeOperation, NodeRecord } from '#libs/domain/nodes/node';
import { type NodeVerb, nextNodeState, nodeChanged, requirePowerFree } from '#libs/domain/nodes/node-state';
import type { NodeOrder } from '../driver';
import type { ManagedNode } from './managed-node';
import type { NodeCleaning } from './node-cleaning';

/**
 * Fields written for an operator's order: `begun` before the controller gets it, so that the node's next manager sees a
 * copy as late; `done` with its last change.
 */
interface OrderNotes {
  readonly begun: Pick<NodeRecord, 'lastOrder'>;
  readonly done: Pick<NodeRecord, 'lastOrder'>;
}

type Operation = (managed: ManagedNode, order: NodeOrder, notes: OrderNotes, cleaning: NodeCleaning) => Promise<void>;

const OPERATIONS: Readonly<Record<NodeOperation, Operation>> = {
  manage: (managed, _, { done }) => manage(managed, done),
  provide: (_, __, { done }, cleaning) => cleaning.move('provide', { step: '', ...done }),
  clean: (_, __, { done }, cleaning) => cleaning.move('clean', { step: '', ...done }),
  rescue: (managed, _, { begun, done }) =>
    managed.takeTurn(async () => {
      await managed.node.move('rescue', begun);
      await bootInto(managed, 'Pxe');
      await managed.node.change(done);
    }),
  unrescue: (managed, _, { begun, done }) =>
    managed.takeTurn(async () => {
      nextNodeState(managed.node.record.state, 'unrescue', undefined);
      await managed.node.change(begun);
      await bootInto(managed, 'Hdd');
      await managed.node.move('unrescue', done);
    }),
  /** In maintenance the operator owns the power: a cleaning would switch it, and take the operator's boot for its own. */
  async maintain({ node }, { reason }, { done }, cleaning) {
    const { state: stateBefore } = node.record;
    try {
      await node.move('maintain', { reason, stateBefore, ...done });
    } finally {
      await cleaning.interrupt();
    }
  },
  unmaintain: (_, __, { done }, cleaning) => cleaning.move('unmaintain', { step: '', ...done }),
  power_on: (managed, _, notes) => whilePowerIsFree(managed, notes, () => setPower(managed, 'on', notes.done)),
  power_off: (managed, _, notes) => whilePowerIsFree(managed, notes, () => setPower(managed, 'off', notes.done)),
  reboot: (managed, _, notes) => whilePowerIsFree(managed, notes, () => setPower(managed, 'reboot', notes.done)),
  set_boot_device: (managed, { bootDevice = 'Hdd' }, notes) =>
    whilePowerIsFree(managed, notes, async () => {
      await setBootDevice(managed, bootDevice);
      await managed.node.change({ bootDevice, ...notes.done });
    }),
};

/** Limit of the stored characters of a failed order's message. */
const MOST_MESSAGE = 500;

/** Carries out an operator's order, and keeps its outcome with the node. */
export async function operateNode(managed: ManagedNode, cleaning: NodeCleaning, order: NodeOrder): Promise<void> {
  const { verb, restsOnUpdatedAtMs } = order;
  const { node, clock } = managed;
  const { host, updatedAtMs } = node.record;
  if (restsOnUpdatedAtMs !== 0 && restsOnUpdatedAtMs !== updatedAtMs) throw nodeChanged(host);
  const begunAtMs = clock.now();
  const begun: LastOrder = { verb, restsOnUpdatedAtMs, begunAtMs, outcome: 'begun', reason: '', message: '' };
  const notes = { begun: { lastOrder: begun }, done: { lastOrder: { ...begun, outcome: 'done' } } } as const;
  const operation = isOfService(managed, verb) ? operateAtService : OPERATIONS[verb];
  try {
    await operation(managed, order, notes, cleaning);
  } catch (thrown) {
    const { reason, message } = BerthError.from(thrown);
    const failed: LastOrder = { ...begun, outcome: 'failed', reason, message: message.slice(0, MOST_MESSAGE) };
    await node.change({ lastOrder: failed }).catch(() => {});
    throw thrown;
  }
}

/** True for an order that changes the state of a node whose states a service keeps. */
function isOfService({ controller }: ManagedNode, verb: NodeOperation): boolean {
  return controller.service !== undefined && !POWER_ORDERS.includes(verb);
}

const POWER_ORDERS: readonly NodeOperation[] = ['power_on', 'power_off', 'reboot', 'set_boot_device'];

/** The record follows the service. */
const operateAtService: Operation = (managed, { verb, reason }, { done }, cleaning) =>
  managed.takeTurn(async () => {
    const { node, controller, claim } = managed;
    const { service } = controller;
    // Orders for the power do not come here.
    nextNodeState(node.record.state, verb as NodeVerb, node.record.stateBefore);
    await claim();
    await service?.operate(verb, reason);
    const observed = await service?.observe(node.record);
    try {
      await node.change({ ...observed?.fields, ...done });
    } finally {
      if (node.record.state === 'cleaning') cleaning.startIfDue();
      else await cleaning.interrupt();
    }
  });

/**
 * Executes an operator's power or boot order, unless Berth itself works on the node. All that this run knows is
 * written with the order first: the order must not rest on state unknown to the next manager. The state is checked
 * before the write, so that a build that ends meanwhile is not written with it.
 */
function whilePowerIsFree(
  { node, takeTurn }: ManagedNode,
  { begun }: OrderNotes,
  action: () => Promise<void>,
): Promise<void> {
  return takeTurn(async () => {
    requirePowerFree(node.record.state);
    await node.change(begun);
    await action();
  });
}

async function setPower(
  { node, controller, claim }: ManagedNode,
  order: 'on' | 'off' | 'reboot',
  fields: Partial<NodeRecord> = {},
): Promise<void> {
  await claim();
  await controller.setPower(order);
  await node.change({ isOn: order !== 'off', ...fields });
}

/** The disk boots each time, any other device once. */
async function setBootDevice({ controller, claim }: ManagedNode, device: BootDevice): Promise<void> {
  await claim();
  await controller.setBootDevice(device, device !== 'Hdd');
}

async function bootInto(managed: ManagedNode, device: BootDevice): Promise<void> {
  await setBootDevice(managed, device);
  await setPower(managed, (await managed.controller.status()).isOn ? 'reboot' : 'on', { bootDevice: device });
}

/**
 * Claims a node that Berth did not manage, which must answer (Ironic's `verifying`); from then on only Berth orders it.
 */
async function manage(managed: ManagedNode, done: OrderNotes['done']): Promise<void> {
  const { node, controller, epoch, isCertain, health } = managed;
  const { state, systemId: known, instanceUuid } = node.record;
  nextNodeState(state, 'manage', undefined);
  const isTakenOver = health.isRefused && instanceUuid === '';
  if (state !== 'enroll' && !isTakenOver) return node.move('manage', done);
  // An operator's order accepts the present machine as the node.
  await controller.claim(epoch, { systemId: instanceUuid === '' ? '' : known, isCertain });
  const { isOn, systemId = '' } = await controller.status();
  await node.move('manage', { isOn, systemId: systemId || known, ...done });
}
