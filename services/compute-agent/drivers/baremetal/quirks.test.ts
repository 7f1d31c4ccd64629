import { BerthError } from '#libs/domain/errors';
import type { NodeRecord } from '#libs/domain/nodes/node';
import { randomInt, seededRandom } from '#libs/domain/random';
import { silentLog } from '#libs/runtime/log';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { aNodeRecord } from '#libs/testing/node-record';
import type { ControllerQuirks } from '../../testing/controller-quirks';
import { aMetalInstance } from '../../testing/metal-instance';
import { SimulatedControllers } from '../../testing/simulated-controllers';
import { openBaremetalDriver } from './baremetal-driver';
import type { BaremetalParts } from './managed-node';
import { redfishController } from './redfish/redfish-controller';
import { type AskRedfish, controllerAway } from './redfish/redfish-http';
import { redfishServices } from './redfish/redfish-service';
import { RememberedNode } from './remembered-node';

/* A build, a destroy and a cleaning with controllers as they are sold: the table of README.md, a row each. */

const clock = systemClock();
const ROOT = 'http://rack';
const never = new AbortController().signal;

/** Quirks that do not keep a controller from serving. */
const SERVED: Readonly<Record<string, ControllerQuirks>> = {
  'none at all': {},
  'If-Match required': { etags: 'required' },
  'weak ETags': { etags: 'weak' },
  'ETags that never match': { etags: 'never' },
  'Continuous refused': { refusesContinuous: true },
  'boot at the settings resource': { settingsResource: true },
  'mode with the target': { modeRequired: true },
  'asset tag dropped': { dropsAssetTag: true },
  redirects: { redirects: true },
  'no session service': { noSessionService: true },
  'sessions without a context': { noContext: true },
  'errors that are pages': { htmlErrors: true },
  'often busy': { busyEach: 3 },
  'connections cut': { cutEach: 7 },
  'slow to switch off': { slowOffMs: 80 },
  'slow to switch on': { slowOnMs: 60 },
  tasks: { tasks: true },
  'reset types by ActionInfo': { actionInfo: true },
};

/** Quirks that leave a boot unproven: the node is not given out, and the reason is shown. */
const DOUBTED: Readonly<Record<string, readonly [ControllerQuirks, string]>> = {
  'no BootProgress': [{ bootProgress: 'absent' }, 'no BootProgress'],
  'always OSRunning': [{ bootProgress: 'running' }, 'never showed it starting'],
  'boot device ignored': [{ bootDevice: 'ignored' }, 'something else has booted'],
  'boot device dropped': [{ bootDevice: 'dropped' }, 'does not show it'],
};

async function open(quirks: ControllerQuirks, systemId = '', sync?: BaremetalParts['sync']) {
  const controllers = new SimulatedControllers({ nodes: ['n1'], bootMs: 120, quirks }, { clock, random: systemRandom });
  const network = { isCut: false };
  const ask: AskRedfish = async (url, { method = 'GET', token = '', ifMatch, body = {}, basic }) => {
    const authorization = basic && `Basic ${Buffer.from(`${basic.user}:${basic.password}`).toString('base64')}`;
    const path = url.slice(ROOT.length);
    if (network.isCut) throw controllerAway(url);
    try {
      const sent = { method, path, token, ifMatch, authorization, body: body as Record<string, unknown> };
      const answer = controllers.answer(sent);
      return { status: answer.status, headers: new Headers(answer.headers), body: answer.body ?? {} };
    } catch {
      throw controllerAway(url, Object.assign(new Error('cut'), { code: 'ECONNRESET' }));
    }
  };
  const services = redfishServices({ user: 'berth', password: 'secret', timeoutMs: 1_000, clock, ask });
  const controller = redfishController('n1', ROOT + controllers.systemPath('n1'), services);
  let stored: NodeRecord = aNodeRecord({ systemId });
  const write = async (record: NodeRecord) => {
    stored = record;
  };
  const node = new RememberedNode(stored, write, () => clock.now());
  const times = { pollMs: 5, shutdownMs: 50, bootTimeoutMs: 5_000, awayMs: 5_000 };
  const around = { node, controller, epoch: 7, isCertain: () => true, clock, log: silentLog };
  const shape = { offers: 'class', resources: {}, cleans: true } as const;
  const driver = await openBaremetalDriver({ ...around, ...times, ...shape, ...(sync && { sync }) });
  const system = controllers.system('n1');
  const isAvailable = async () => {
    while (node.record.state === 'cleaning') await new Promise((resolve) => setTimeout(resolve, 5));
    return node.record.state;
  };
  return { driver, controller, system, node, controllers, network, isAvailable, stored: () => stored };
}

const clockTick = () => new Promise((resolve) => setTimeout(resolve, 5));

/** @returns the sessions still open */
async function serves(quirks: ControllerQuirks): Promise<string[]> {
  const { driver, system, isAvailable, controllers } = await open(quirks);
  const instance = aMetalInstance();
  await driver.build(instance, never);
  expect(clock.elapsed()).toBeGreaterThanOrEqual(system.bootedAtMs);
  expect(system).toMatchObject({ isOn: true, boots: ['Pxe'] });
  await driver.stop(instance.uuid);
  await driver.start(instance.uuid);
  controllers.expireSessions();
  await driver.destroy(instance.uuid);
  expect([await isAvailable(), system.isOn]).toEqual(['available', false]);
  expect(system.boots).toEqual(['Pxe', 'Hdd', 'Utilities']);
  await driver.close();
  return controllers.sessions('n1');
}

// Some at once, each with controllers of its own: they wait for machines that boot.
it.concurrent.each(Object.keys(SERVED))('builds, stops, starts, destroys and cleans: %s', async (name) => {
  expect(await serves(SERVED[name] ?? {})).toEqual([]);
});

it.concurrent.each([1, 2, 3, 4, 5, 6])('serves what has several of these at once (seed %i)', async (seed) => {
  const random = seededRandom(seed);
  const names = Object.keys(SERVED);
  const drawn = Array.from({ length: 4 }, () => SERVED[names[randomInt(random, names.length)] ?? ''] ?? {});
  expect(await serves(Object.assign({}, ...drawn) as ControllerQuirks)).toEqual([]);
});

it.concurrent.each(Object.keys(DOUBTED))('gives nothing out that nothing proves, and says why: %s', async (name) => {
  const [quirks, why] = DOUBTED[name] ?? [{}, ''];
  const { driver, node, isAvailable } = await open(quirks);
  const refusal = await driver.build(aMetalInstance(), never).catch((thrown: unknown) => BerthError.from(thrown));
  expect(refusal).toMatchObject({ code: 'failed_precondition', message: expect.stringContaining(why) });
  expect([await isAvailable(), node.record.instanceUuid]).toEqual(['error', '']);
  expect(node.record.reason).toContain(why);
  await driver.close();
});

it('orders nothing of another machine in its place, until an operator takes it over', async () => {
  const { driver, system, node } = await open({}, '11111111-0000-4000-8000-000000000001');
  await expect(driver.build(aMetalInstance(), never)).rejects.toMatchObject({ reason: 'system_changed' });
  expect([system.boots, system.assetTag, node.record.systemId]).toEqual([
    [],
    '',
    '11111111-0000-4000-8000-000000000001',
  ]);
  await driver.close();
});

it.each([2, 3, 4, 5, 6, 7, 8, 9])(
  'orders nothing of another machine that takes its place after %i orders, while its session lives',
  async (replacedAfter) => {
    for (const quirk of [{}, { refusesContinuous: true }, { dropsAssetTag: true }]) {
      const { driver, controllers, system, node, isAvailable } = await open({ ...quirk, replacedAfter });
      const taken: string[] = [];
      controllers.onOrder = ({ what }, { uuid }) => uuid.startsWith('0ddba11e') && taken.push(what);
      const instance = aMetalInstance();
      const work = async () => {
        await driver.build(instance, never);
        await driver.stop(instance.uuid);
        await driver.start(instance.uuid);
        await driver.destroy(instance.uuid);
      };
      const over = new AbortController();
      const done = work()
        .then(isAvailable)
        .catch(() => {})
        .finally(() => over.abort());
      const isKnown = () => over.signal.aborted || node.record.health.includes('answers in its place');
      while (!isKnown()) await clockTick();
      // A build that fails is undone, which is tried again and again.
      for (let looks = 0; looks < 10; looks++) await clockTick();
      expect([taken, system.isOn, system.boots, system.assetTag]).toEqual([[], true, [], 'theirs']);
      await driver.close();
      await done;
    }
  },
);

it('takes no node without a record for a new one where no mark is kept', async () => {
  const { driver, controller, system } = await open({ dropsAssetTag: true });
  await expect(controller.claim(8, { isNew: true })).rejects.toMatchObject({
    code: 'failed_precondition',
    reason: 'mark_not_kept',
    message: expect.stringContaining('berth node enroll n1'),
  });
  expect(system.boots).toEqual([]);
  await controller.claim(8);
  await driver.close();
});

it('cleans a node whose build ended while it was slow to switch on, shown as off', async () => {
  const { driver, system, isAvailable } = await open({ slowOnMs: 50 });
  const build = new AbortController();
  const instance = aMetalInstance();
  const building = driver.build(instance, build.signal);
  while (system.boots.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  build.abort();
  await expect(building).rejects.toMatchObject({ reason: 'cancelled' });
  expect(await isAvailable()).toBe('available');
  expect(system.boots.at(-1)).toBe('Utilities');
  await driver.close();
});

it('shows what is switched at the button, and a controller that is away', async () => {
  const { driver, system, node, network } = await open({}, '', { firstMs: 5, everyMs: 5 });
  const shows = async (isShown: () => boolean) => {
    while (!isShown()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await driver.build(aMetalInstance(), never);
  system.isOn = false;
  await shows(() => !node.record.isOn);
  expect(node.record).toMatchObject({ state: 'active' });
  system.isOn = true;
  await shows(() => node.record.isOn);
  network.isCut = true;
  await shows(() => node.record.health.includes('no answer'));
  network.isCut = false;
  await shows(() => node.record.health === '');
  await driver.close();
});
