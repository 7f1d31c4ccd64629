import { randomUUID } from 'node:crypto';
import type { NodeRecord } from '#libs/domain/nodes/node';
import { requestSpec } from '#libs/domain/request-spec';
import { silentLog } from '#libs/runtime/log';
import { systemClock } from '#libs/runtime/system';
import { IronicOperator } from '#libs/testing/ironic/ironic-operator';
import { startIronic } from '#libs/testing/ironic/ironic-server';
import { aNodeRecord } from '#libs/testing/node-record';
import type { TestServer } from '#libs/testing/servers/server-process';
import { openBaremetalDriver } from '../../../services/compute-agent/drivers/baremetal/baremetal-driver';
import { type AskIronic, askIronic } from '../../../services/compute-agent/drivers/baremetal/ironic/ironic-api';
import { ironicController } from '../../../services/compute-agent/drivers/baremetal/ironic/ironic-controller';
import { IronicNodes } from '../../../services/compute-agent/drivers/baremetal/ironic/ironic-nodes';
import { RememberedNode } from '../../../services/compute-agent/drivers/baremetal/remembered-node';
import type { InstanceToBuild } from '../../../services/compute-agent/drivers/driver';

/* The driver on an Ironic of its own, without the rest of Berth: who may do what to a node, however late. */

const clock = systemClock();
const never = new AbortController().signal;
let server: TestServer;
let ironic: IronicOperator;

beforeAll(async () => {
  server = await startIronic();
  ironic = new IronicOperator(server.url);
});
afterAll(() => server?.stop());

/** A holder of a node; `isHolder` is false once another has it. */
async function holderOf(uuid: string, stored: Partial<NodeRecord> = {}, ask?: (plain: AskIronic) => AskIronic) {
  const plain = askIronic({ root: server.url, login: { kind: 'none' }, timeoutMs: 20_000, clock });
  const nodes = new IronicNodes(ask?.(plain) ?? plain, clock, 50);
  const first = aNodeRecord({ host: uuid, state: 'enroll', ...stored });
  const node = new RememberedNode(
    first,
    async () => {},
    () => clock.now(),
  );
  const holder = { isCertain: true };
  const driver = await openBaremetalDriver({
    node,
    controller: ironicController(uuid, nodes, { clock, instanceInfo: { image_source: 'http://images/os.raw' } }),
    epoch: 1,
    isCertain: () => holder.isCertain,
    clock,
    log: silentLog,
    offers: 'class',
    resources: {},
    pollMs: 50,
    shutdownMs: 1_000,
    cleans: true,
    bootTimeoutMs: 30_000,
    awayMs: 10_000,
    sync: { firstMs: 0, everyMs: 50 },
  });
  const isIn = (state: NodeRecord['state']) =>
    until(
      () => node.record.state === state,
      () => node.record,
    );
  return Object.assign(holder, { node, driver, isIn });
}

/** A promise that a test resolves. */
function signalled() {
  let resolve = () => {};
  const promise = new Promise<void>((resolved) => {
    resolve = resolved;
  });
  return { promise, resolve: () => resolve() };
}

async function until(isSo: () => boolean, shown: () => unknown): Promise<void> {
  const untilMs = clock.elapsed() + 30_000;
  while (!isSo()) {
    if (clock.elapsed() > untilMs) throw new Error(`it is ${JSON.stringify(shown())}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const anInstance = (uuid = randomUUID()): InstanceToBuild => ({
  uuid,
  name: 'db-1',
  projectId: 'p',
  resources: { CUSTOM_BAREMETAL_GOLD: 1 },
  requestSpec: requestSpec({ CUSTOM_BAREMETAL_GOLD: 1 }, { projectId: 'p', userId: 'u' }),
  claimed: {},
  mappings: {},
});

it('deploys with the uuid of the instance, protects it, and undeploys and cleans it', async () => {
  const uuid = await ironic.enrol('baremetal.gold', ['CUSTOM_SSD']);
  const { driver, node, isIn } = await holderOf(uuid);
  await isIn('available');
  expect(node.record).toMatchObject({ resourceClass: 'CUSTOM_BAREMETAL_GOLD', traits: ['CUSTOM_SSD'], isOn: false });
  const instance = anInstance();
  await driver.build(instance, never);
  expect(await ironic.node(uuid)).toMatchObject({
    provision_state: 'active',
    instance_uuid: instance.uuid,
    instance_info: { image_source: 'http://images/os.raw', display_name: 'db-1' },
    protected: true,
  });
  expect(node.record).toMatchObject({ state: 'active', instanceUuid: instance.uuid });
  await driver.start(instance.uuid);
  expect((await ironic.node(uuid)).power_state).toBe('power on');
  await driver.stop(instance.uuid);
  expect((await ironic.node(uuid)).power_state).toMatch(/power off/);
  await driver.destroy(instance.uuid);
  expect(node.record.instanceUuid).toBe('');
  await isIn('available');
  expect(await ironic.node(uuid)).toMatchObject({
    provision_state: 'available',
    instance_uuid: null,
    instance_info: {},
  });
  await driver.close();
});

it('follows maintenance and states at Ironic, and what it offers with them', async () => {
  const uuid = await ironic.enrol('gold');
  const { driver, node, isIn } = await holderOf(uuid);
  await isIn('available');
  const free = () => {
    const { total = 0, reserved = 0 } = driver.capacity().inventories['CUSTOM_BAREMETAL_GOLD'] ?? {};
    return total - reserved;
  };
  expect(free()).toBe(1);
  await ironic.ask('PUT', `/v1/nodes/${uuid}/maintenance`, { reason: 'a disk' });
  await isIn('maintenance');
  expect([free(), node.record.reason]).toEqual([0, 'a disk']);
  await ironic.ask('DELETE', `/v1/nodes/${uuid}/maintenance`);
  await isIn('available');
  await ironic.provision(uuid, 'manage', 'manageable');
  await isIn('manageable');
  expect(free()).toBe(0);
  const order = (verb: 'provide' | 'maintain' | 'unmaintain' | 'rescue') => ({
    verb,
    reason: 'a fan',
    restsOnUpdatedAtMs: 0,
  });
  await driver.operate?.(order('provide'));
  await isIn('available');
  await driver.operate?.(order('maintain'));
  expect(await ironic.node(uuid)).toMatchObject({ maintenance: true, maintenance_reason: 'a fan' });
  await driver.operate?.(order('unmaintain'));
  expect(node.record).toMatchObject({ state: 'available', reason: '' });
  await driver.close();
});

it('leaves an instance of others alone, and shows it', async () => {
  const uuid = await ironic.enrol('gold');
  const other = randomUUID();
  await ironic.ask('PATCH', `/v1/nodes/${uuid}`, [{ op: 'add', path: '/instance_uuid', value: other }]);
  await ironic.provision(uuid, 'active', 'active');
  // By the record it is free: the store was restored, or others were faster.
  const { driver, node, isIn } = await holderOf(uuid, { state: 'available' });
  await expect(driver.build(anInstance(), never)).rejects.toMatchObject({ reason: 'node_taken' });
  await isIn('manageable');
  expect(node.record.health).toContain(other);
  expect(await driver.list()).toEqual([{ id: other, resources: {} }]);
  expect(await ironic.node(uuid)).toMatchObject({ provision_state: 'active', instance_uuid: other });
  await driver.close();
});

it('keeps an instance on record of which Ironic shows nothing', async () => {
  const uuid = await ironic.enrol('gold');
  const { uuid: lost } = anInstance();
  const { driver, node } = await holderOf(uuid, { state: 'active', instanceUuid: lost });
  await until(
    () => node.record.health !== '',
    () => node.record,
  );
  expect(node.record).toMatchObject({ state: 'active', instanceUuid: lost });
  expect(node.record.health).toContain('no instance');
  await driver.destroy(lost);
  expect(await ironic.node(uuid)).toMatchObject({ provision_state: 'available' });
  await driver.close();
});

it('is refused by Ironic when it undeploys what another has deployed meanwhile', async () => {
  const uuid = await ironic.enrol('gold');
  const [held, released] = [signalled(), signalled()];
  let answered: Promise<unknown> | undefined;
  // An agent that stands still between its last look at the lease and the order.
  const paused = (plain: AskIronic): AskIronic => {
    return async (request) => {
      const { target } = (request.body ?? {}) as { target?: string };
      if (target !== 'deleted' || answered) return plain(request);
      const { fence: _, ...late } = request;
      answered = released.promise.then(() => plain(late));
      held.resolve();
      return answered;
    };
  };
  const former = await holderOf(uuid, {}, paused);
  await former.isIn('available');
  const first = anInstance();
  await former.driver.build(first, never);
  const destroyed = former.driver.destroy(first.uuid);
  await held.promise;
  former.isCertain = false;
  const next = await holderOf(uuid, { state: 'active', instanceUuid: first.uuid });
  await next.driver.destroy(first.uuid);
  await next.isIn('available');
  const second = anInstance();
  await next.driver.build(second, never);
  released.resolve();
  await expect(answered).rejects.toMatchObject({ message: expect.stringContaining('protected') });
  // By the next look its instance is gone.
  await destroyed;
  expect(await ironic.node(uuid)).toMatchObject({ provision_state: 'active', instance_uuid: second.uuid });
  await former.driver.close();
  await next.driver.destroy(second.uuid);
  await next.driver.close();
});

it('releases a node whose deployment Ironic refuses', async () => {
  const uuid = await ironic.enrol('gold');
  const refusing = (plain: AskIronic): AskIronic => {
    return (request) => {
      const { target } = (request.body ?? {}) as { target?: string };
      // Ironic validates what a deployment needs before it begins; fake hardware needs nothing.
      return plain(target === 'active' ? { ...request, body: { target: 'inactive' } } : request);
    };
  };
  const { driver, isIn } = await holderOf(uuid, {}, refusing);
  await isIn('available');
  await expect(driver.build(anInstance(), never)).rejects.toMatchObject({ reason: 'controller_refused' });
  await isIn('available');
  expect(await ironic.node(uuid)).toMatchObject({ instance_uuid: null, instance_info: {} });
  await driver.close();
});

it('continues the deployment of another manager, and does not begin it twice', async () => {
  const uuid = await ironic.enrol('gold');
  const orders: string[] = [];
  const counted = (plain: AskIronic): AskIronic => {
    return (request) => {
      const { target } = (request.body ?? {}) as { target?: string };
      if (target !== undefined) orders.push(target);
      return plain(request);
    };
  };
  const former = await holderOf(uuid, {}, counted);
  await former.isIn('available');
  const instance = anInstance();
  const ended = new AbortController();
  const building = former.driver.build(instance, ended.signal).catch(() => {});
  await until(
    () => orders.includes('active'),
    () => orders,
  );
  former.isCertain = false;
  ended.abort('handed_back');
  await building;
  const next = await holderOf(uuid, { state: 'deploying', instanceUuid: instance.uuid }, counted);
  await next.driver.build(instance, never);
  expect(orders.filter((target) => target === 'active')).toEqual(['active']);
  expect(await ironic.node(uuid)).toMatchObject({ provision_state: 'active', instance_uuid: instance.uuid });
  await former.driver.close();
  await next.driver.destroy(instance.uuid);
  await next.driver.close();
});
