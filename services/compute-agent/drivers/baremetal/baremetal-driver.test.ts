import { randomUUID } from 'node:crypto';
import { BerthError } from '#libs/domain/errors';
import type { NodeOperation, NodeRecord } from '#libs/domain/nodes/node';
import { silentLog } from '#libs/runtime/log';
import { systemClock } from '#libs/runtime/system';
import { aNodeRecord } from '#libs/testing/node-record';
import { aMetalInstance } from '../../testing/metal-instance';
import { RedfishSimulator } from '../../testing/redfish-simulator';
import { openBaremetalDriver } from './baremetal-driver';
import { redfishController } from './redfish/redfish-controller';
import { redfishServices } from './redfish/redfish-service';
import { RememberedNode } from './remembered-node';

let simulator: RedfishSimulator;
/** The record in the store. */
let stored: NodeRecord;
/** The epoch of the node's holder. */
let holder: number;
/** Number of changes of nodes: the clock of this test. */
let changes = 0;
const clock = systemClock();
const MACHINE = { VCPU: 64, MEMORY_MB: 262_144 };
let offers: 'class' | 'both' | 'machine';
let awayMs: number;

beforeEach(async () => {
  simulator = await RedfishSimulator.start({ nodes: ['n1'], bootMs: 60 });
  stored = aNodeRecord({ traits: ['CUSTOM_SSD'] });
  holder = 1;
  offers = 'class';
  awayMs = 2_000;
  onWrite = () => {};
});
afterEach(() => simulator.stop());

/** Called before a write; a test may throw. */
let onWrite: (record: NodeRecord) => void;

/** The driver of the node's holder at an epoch, which continues from the record in the store. */
async function open(epoch: number) {
  holder = epoch;
  const write = async (record: NodeRecord) => {
    onWrite(record);
    if (epoch !== holder) throw new BerthError('failed_precondition', 'epoch_superseded', 'another holds it');
    stored = record;
  };
  const node = new RememberedNode(stored, write, () => ++changes);
  const services = redfishServices({ user: 'berth', password: 'secret', timeoutMs: 5_000, clock });
  const controller = redfishController('n1', simulator.systemUrl('n1'), services);
  const times = { pollMs: 10, shutdownMs: 100, bootTimeoutMs: 10_000, awayMs };
  const settings = { offers, resources: MACHINE, cleans: true, ...times };
  return openBaremetalDriver({
    node,
    controller,
    epoch,
    isCertain: () => epoch === holder,
    clock,
    log: silentLog,
    ...settings,
  });
}

const order = (verb: NodeOperation, reason = '', restsOnUpdatedAtMs = 0) => ({ verb, reason, restsOnUpdatedAtMs });

const never = new AbortController().signal;
const until = async (isDone: () => boolean) => {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 5));
};
const boots = () => simulator.system('n1').boots;
const isFree = (driver: Awaited<ReturnType<typeof open>>) => {
  const { total, reserved } = driver.capacity().inventories['CUSTOM_BAREMETAL_GOLD'] ?? { total: 0, reserved: 0 };
  return total - reserved;
};

it('builds an instance, is active, and is cleaned before it is available again', async () => {
  const driver = await open(1);
  const instance = aMetalInstance();
  await driver.build(instance, never);
  expect(stored).toMatchObject({ state: 'active', instanceUuid: instance.uuid, isOn: true, bootDevice: 'Hdd' });
  expect(await driver.list()).toEqual([{ id: instance.uuid, resources: { CUSTOM_BAREMETAL_GOLD: 1 } }]);
  await driver.destroy(instance.uuid);
  expect([stored.state, stored.instanceUuid, isFree(driver)]).toEqual(['cleaning', '', 0]);
  await until(() => stored.state === 'available');
  expect([boots(), isFree(driver), await driver.list()]).toEqual([['Pxe', 'Utilities'], 1, []]);
  await driver.close();
});

it('shows its class, the machine, or both, each of which is all of it or nothing', async () => {
  const shown = async (wanted: typeof offers) => {
    offers = wanted;
    const driver = await open(1);
    const { inventories } = driver.capacity();
    await driver.close();
    return inventories;
  };
  expect(Object.keys(await shown('class'))).toEqual(['CUSTOM_BAREMETAL_GOLD']);
  expect(Object.keys(await shown('machine'))).toEqual(['VCPU', 'MEMORY_MB']);
  const both = await shown('both');
  expect(both).toMatchObject({
    VCPU: { total: 64, reserved: 0, minUnit: 64, maxUnit: 64 },
    CUSTOM_BAREMETAL_GOLD: { total: 1, reserved: 0, maxUnit: 1 },
  });
  stored = { ...stored, state: 'manageable' };
  const refused = await shown('both');
  expect(Object.values(refused).map(({ total, reserved }) => total - reserved)).toEqual([0, 0, 0]);
});

it('says at once that it is not free, before what it does next', async () => {
  const driver = await open(1);
  const seen: string[] = [];
  driver.onCapacityChange?.(() => seen.push(`${isFree(driver)}`));
  await driver.operate?.(order('maintain', 'new disk'));
  expect([seen, stored.state, stored.reason]).toEqual([['0'], 'maintenance', 'new disk']);
  await driver.operate?.(order('unmaintain'));
  expect([seen, stored.state, stored.reason]).toEqual([['0', '1'], 'available', '']);
  await driver.close();
});

it('refuses what the state does not allow', async () => {
  const driver = await open(1);
  await driver.build(aMetalInstance(), never);
  await expect(driver.build(aMetalInstance(), never)).rejects.toMatchObject({ reason: 'node_state' });
  await expect(driver.operate?.(order('clean'))).rejects.toMatchObject({ reason: 'node_state' });
  expect(stored.lastOrder).toMatchObject({ verb: 'clean', outcome: 'failed', reason: 'node_state' });
  await driver.close();
});

it('does what rests on the node as it is, and not again when the order comes twice', async () => {
  stored = { ...stored, updatedAtMs: ++changes };
  const driver = await open(1);
  const reboot = order('reboot', '', stored.updatedAtMs);
  await driver.operate?.(reboot);
  const { length } = boots();
  await expect(driver.operate?.(reboot)).rejects.toMatchObject({ reason: 'node_changed' });
  expect([length, boots().length]).toEqual([1, 1]);
  expect(stored.lastOrder).toMatchObject({
    verb: 'reboot',
    restsOnUpdatedAtMs: reboot.restsOnUpdatedAtMs,
    outcome: 'done',
  });
  await driver.close();
});

it.each(['reboot', 'set_boot_device'] as const)(
  'does not do %s at a second manager, though the first could not write it',
  async (verb) => {
    stored = { ...stored, updatedAtMs: ++changes };
    const rests = order(verb, '', stored.updatedAtMs);
    const first = await open(1);
    onWrite = () => {
      if (simulator.orders.length > 0) throw new BerthError('failed_precondition', 'epoch_unknown', 'not surely held');
    };
    await expect(first.operate?.(rests)).rejects.toMatchObject({ reason: 'epoch_unknown' });
    onWrite = () => {};
    expect(stored.lastOrder).toMatchObject({ verb, outcome: 'begun' });
    const done = simulator.orders.length;
    const second = await open(2);
    await expect(second.operate?.(rests)).rejects.toMatchObject({ reason: 'node_changed' });
    expect(simulator.orders).toHaveLength(done);
    await second.close();
  },
);

it('claims a node that an operator enrolls, so that who managed it before orders nothing more', async () => {
  const first = await open(1);
  await first.operate?.(order('power_on'));
  stored = { ...stored, state: 'enroll' };
  const second = await open(2);
  simulator.onRequest = () => {
    throw new Error('cut');
  };
  await expect(second.operate?.(order('manage'))).rejects.toMatchObject({ reason: 'controller_away' });
  simulator.onRequest = () => {};
  expect(stored).toMatchObject({ state: 'enroll', lastOrder: { outcome: 'failed', reason: 'controller_away' } });
  await second.operate?.(order('manage'));
  expect([stored.state, stored.isOn]).toEqual(['manageable', true]);
  const done = simulator.orders.length;
  holder = 1;
  await expect(first.operate?.(order('power_off'))).rejects.toMatchObject({ reason: 'epoch_superseded' });
  expect([simulator.orders.length, simulator.system('n1').isOn]).toEqual([done, true]);
  await second.close();
});

it('reboots nothing for an unrescue of what is not in rescue', async () => {
  const driver = await open(1);
  await driver.build(aMetalInstance(), never);
  await expect(driver.operate?.(order('unrescue'))).rejects.toMatchObject({ reason: 'node_state' });
  expect([stored.state, boots()]).toEqual(['active', ['Pxe']]);
  await driver.close();
});

it.each(['power_on', 'power_off', 'reboot', 'set_boot_device'] as const)(
  'leaves a node alone that is being deployed: %s',
  async (verb) => {
    const driver = await open(1);
    const building = driver.build(aMetalInstance(), never);
    await until(() => stored.state === 'deploying');
    const outcomes: (string | undefined)[] = [];
    onWrite = ({ lastOrder }) => outcomes.push(lastOrder?.outcome);
    await expect(driver.operate?.(order(verb))).rejects.toMatchObject({ reason: 'node_state' });
    await building;
    // If the build began before it is refused, it could end in between, and not be written.
    expect(outcomes).not.toContain('begun');
    expect([stored.state, boots()]).toEqual(['active', ['Pxe']]);
    await driver.close();
  },
);

it('goes on with a build that another holder began, wherever that was, and boots the node once for it', async () => {
  for (let stopAt = 1; stopAt <= 14; stopAt++) {
    const [earlier, later] = [stopAt * 2, stopAt * 2 + 1];
    const before = boots().length;
    let count = 0;
    simulator.onRequest = () => {
      if (++count >= stopAt) throw new Error('the agent is gone');
    };
    const first = await open(earlier);
    const instance = aMetalInstance();
    const handedBack = new AbortController();
    let isOver = false;
    const building = first
      .build(instance, handedBack.signal)
      .catch(() => {})
      .finally(() => {
        isOver = true;
      });
    await until(() => isOver || count >= stopAt);
    handedBack.abort('handed_back');
    await building;
    simulator.onRequest = () => {};
    const second = await open(later);
    await second.build(instance, never);
    expect([stopAt, stored.state, boots().slice(before)]).toEqual([stopAt, 'active', ['Pxe']]);
    await second.destroy(instance.uuid);
    await until(() => stored.state === 'available');
    await second.close();
  }
});

it('boots once more what another holder switched on, when nothing tells from what it came up', async () => {
  const uuid = randomUUID();
  stored = aNodeRecord({ state: 'deploying', instanceUuid: uuid, step: 'boot', bootDevice: 'Pxe' });
  Object.assign(simulator.system('n1'), { isOn: true });
  const driver = await open(2);
  await driver.build(aMetalInstance(uuid), never);
  expect(boots()).toEqual(['Pxe']);
  expect(stored).toMatchObject({ state: 'active', tellsBoot: true });
  await driver.close();
});

it('leaves nothing of a build that failed, though its controller was away when it was undone', async () => {
  const driver = await open(1);
  const deadline = new AbortController();
  const building = driver.build(aMetalInstance(), deadline.signal);
  await until(() => boots().length === 1);
  let refusedCount = 0;
  simulator.onRequest = () => {
    if (refusedCount++ < 8) throw new Error('cut');
  };
  deadline.abort('deadline');
  await expect(building).rejects.toBeInstanceOf(BerthError);
  await until(() => stored.state === 'available');
  expect([stored.instanceUuid, simulator.system('n1').isOn]).toEqual(['', false]);
  await driver.close();
});

it('does what an operator ordered before a build begins, and not in the middle of it', async () => {
  const driver = await open(1);
  let letGo = () => {};
  const isHeld = new Promise<void>((held) => {
    simulator.onRequest = (method, path) => {
      if (method !== 'POST' || !path.endsWith('Reset')) return undefined;
      held();
      simulator.onRequest = () => {};
      return new Promise<void>((resolve) => {
        letGo = resolve;
      });
    };
  });
  const operated = driver.operate?.(order('power_on'));
  await isHeld;
  const building = driver.build(aMetalInstance(), never);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(stored.state).toBe('available');
  letGo();
  await Promise.all([operated, building]);
  expect([stored.state, boots()]).toEqual(['active', ['Hdd', 'Pxe']]);
  await driver.close();
});

it('lets no operator into a build, whatever step it is at', async () => {
  const driver = await open(1);
  const verbs = ['power_off', 'reboot', 'set_boot_device', 'clean', 'maintain', 'rescue', 'manage'] as const;
  const outcomes = new Set<string>();
  simulator.onRequest = async () => {
    if (stored.state !== 'deploying') return;
    for (const verb of verbs) {
      const refused = driver.operate?.(order(verb)).then(
        () => `${verb} done`,
        ({ reason }: BerthError) => reason,
      );
      outcomes.add((await refused) ?? '');
    }
  };
  await driver.build(aMetalInstance(), never);
  expect([[...outcomes], stored.state, boots()]).toEqual([['node_state'], 'active', ['Pxe']]);
  await driver.close();
});

it('leaves the power of a node alone that is put into maintenance while it is cleaned, and cleans it when that is over', async () => {
  stored = { ...stored, state: 'cleaning' };
  const driver = await open(1);
  await until(() => boots().length === 1);
  await driver.operate?.(order('maintain'));
  const before = simulator.orders.length;
  await driver.operate?.(order('power_off'));
  await driver.operate?.(order('power_on'));
  // It boots; a cleaning that continued would take that boot for its own.
  await new Promise((resolve) => setTimeout(resolve, 100));
  await driver.operate?.(order('unmaintain'));
  await until(() => stored.state === 'available');
  expect(simulator.orders.slice(before).map(({ what }) => what)).toEqual([
    'Reset ForceOff',
    'Reset On',
    // By the cleaning.
    'Reset ForceOff',
    'Boot Utilities',
    'Reset On',
    'Reset ForceOff',
  ]);
  await driver.close();
});

it('cleans a node to the end though it lost its power meanwhile', async () => {
  stored = { ...stored, state: 'cleaning' };
  const driver = await open(1);
  await until(() => boots().length === 1);
  simulator.system('n1').isOn = false;
  await until(() => stored.state === 'available');
  expect(boots()).toEqual(['Utilities', 'Utilities']);
  await driver.close();
});

it('cleans what it destroyed though that could not be written at first, and has it gone only when it is written', async () => {
  const driver = await open(1);
  const instance = aMetalInstance();
  await driver.build(instance, never);
  let isHeldUp = true;
  onWrite = () => {
    if (isHeldUp) throw new BerthError('failed_precondition', 'epoch_unknown', 'not surely held');
  };
  await expect(driver.destroy(instance.uuid)).rejects.toMatchObject({ reason: 'epoch_unknown' });
  await expect(driver.destroy(instance.uuid)).rejects.toMatchObject({ reason: 'epoch_unknown' });
  expect(stored).toMatchObject({ state: 'active', instanceUuid: instance.uuid });
  isHeldUp = false;
  await driver.destroy(instance.uuid);
  expect(stored.instanceUuid).toBe('');
  await until(() => stored.state === 'available');
  await driver.close();
});

it('boots nothing for what is not written: the next manager would take that for what the store says', async () => {
  const driver = await open(1);
  const instance = aMetalInstance();
  const { uuid } = instance;
  await driver.build(instance, never);
  let writes = 0;
  onWrite = () => {
    writes++;
    throw new BerthError('failed_precondition', 'epoch_unknown', 'not surely held');
  };
  await expect(driver.destroy(uuid)).rejects.toMatchObject({ reason: 'epoch_unknown' });
  // It is to be cleaned, and retries that write before each attempt to begin.
  await until(() => writes > 3 || boots().length > 1);
  expect([stored.instanceUuid, boots()]).toEqual([uuid, ['Pxe']]);
  await driver.close();
});

it('leaves a node alone that another holds since', async () => {
  const first = await open(1);
  const instance = aMetalInstance();
  await first.build(instance, never);
  const second = await open(2);
  await second.operate?.(order('power_off'));
  await expect(first.start(instance.uuid)).rejects.toMatchObject({ reason: 'epoch_superseded' });
  await expect(first.destroy(instance.uuid)).rejects.toMatchObject({ reason: 'epoch_superseded' });
  expect([stored.instanceUuid, simulator.system('n1').isOn]).toEqual([instance.uuid, false]);
  await second.close();
});

it('goes on with the cleaning that another holder began', async () => {
  stored = { ...stored, state: 'cleaning', step: 'boot' };
  Object.assign(simulator.system('n1'), { bootTarget: 'Utilities', bootEnabled: 'Once' });
  const driver = await open(1);
  await until(() => stored.state === 'available');
  expect(boots()).toEqual(['Utilities']);
  await driver.close();
});

it('is in error when it can not be cleaned, and is cleaned when an operator says so', async () => {
  stored = { ...stored, state: 'cleaning' };
  simulator.onRequest = () => {
    throw new Error('cut');
  };
  const driver = await open(1);
  await until(() => stored.state === 'error');
  expect([stored.reason, isFree(driver)]).toEqual([expect.stringContaining('cleaning failed'), 0]);
  simulator.onRequest = () => {};
  await driver.operate?.(order('clean'));
  await until(() => stored.state === 'available');
  await driver.close();
});

it('cleans what failed to build, and the node of an instance that is destroyed in maintenance when that ends', async () => {
  const driver = await open(1);
  const [late, instance] = [aMetalInstance(), aMetalInstance()];
  const deadline = new AbortController();
  const building = driver.build(late, deadline.signal);
  await until(() => stored.step === 'boot');
  deadline.abort('deadline');
  await expect(building).rejects.toBeInstanceOf(BerthError);
  expect([stored.state, stored.instanceUuid]).toEqual(['cleaning', '']);
  await until(() => stored.state === 'available');
  await driver.build(instance, never);
  await driver.operate?.(order('maintain'));
  await driver.destroy(instance.uuid);
  expect([stored.state, stored.stateBefore, isFree(driver)]).toEqual(['maintenance', 'cleaning', 0]);
  await driver.operate?.(order('unmaintain'));
  await until(() => stored.state === 'available');
  await driver.close();
});

it('stops an instance, keeps it, and starts it again', async () => {
  const driver = await open(1);
  const instance = aMetalInstance();
  await driver.build(instance, never);
  await driver.stop(instance.uuid);
  expect([simulator.system('n1').isOn, stored.isOn, stored.instanceUuid]).toEqual([false, false, instance.uuid]);
  await driver.start(instance.uuid);
  expect(boots()).toEqual(['Pxe', 'Hdd']);
  await driver.close();
});

it('offers nothing of a node without a class', async () => {
  stored = { ...stored, resourceClass: '' };
  const driver = await open(1);
  expect(driver.capacity().inventories).toEqual({});
  await driver.close();
});
