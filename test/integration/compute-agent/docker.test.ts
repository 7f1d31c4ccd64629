import { randomUUID } from 'node:crypto';
import Docker from 'dockerode';
import type { Resources } from '#libs/domain/inventory';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { environment, systemClock, systemRandom } from '#libs/runtime/system';
import { Inbox } from '#libs/testing/bus/inbox';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { type DockerEngine, startDocker } from '#libs/testing/servers/docker-engine';
import { openDockerDriver } from '../../../services/compute-agent/drivers/docker/docker-driver';
import { dockerDriverOptions } from '../../../services/compute-agent/drivers/docker/docker-options';
import type { Driver, InstanceToBuild } from '../../../services/compute-agent/drivers/driver';

/* The docker driver on a real engine that this test starts. BERTH_TEST_DOCKER=off leaves it out, and says so. */

const IMAGE = 'berth-test:1';
const OTHER_IMAGE = 'berth-test:other';
const never = new AbortController().signal;
const isOff = environment()['BERTH_TEST_DOCKER'] === 'off';
const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };

jest.setTimeout(240_000);

let engine: DockerEngine;
let docker: Docker;
const opened: Driver[] = [];

beforeAll(async () => {
  if (isOff) return;
  engine = await startDocker();
  docker = new Docker({ socketPath: engine.socket });
  for (const name of [IMAGE, OTHER_IMAGE]) engine.makeImage(name);
});
afterEach(async () => {
  for (const driver of opened.splice(0)) await driver.close();
});
afterAll(async () => {
  if (isOff) return;
  for (const { Id } of await docker.listContainers({ all: true }))
    await docker.getContainer(Id).remove({ force: true });
  await engine.stop();
});

interface TestDriver extends Driver {
  readonly exits: Inbox<{ readonly uuid: string; readonly why: string }>;
}

async function open(settings: Readonly<Record<string, string>> = {}, name = 'host-1'): Promise<TestDriver> {
  const all = { SOCKET: engine.socket, IMAGE, NETWORK: 'none', PULL: 'never', STOP_MS: '1000', ...settings };
  const env = Object.fromEntries(Object.entries(all).map(([key, value]) => [`BERTH_AGENT_DOCKER_${key}`, value]));
  const capacity = { inventories: undefined, traits: [], nested: [], capabilities: {} };
  const driver = await openDockerDriver({ name, capacity }, readConfig(dockerDriverOptions, env), around);
  opened.push(driver);
  const exits = new Inbox<{ readonly uuid: string; readonly why: string }>();
  driver.onExit((uuid, why) => exits.put({ uuid, why }));
  return Object.assign(driver, { exits });
}

function anInstance(
  {
    resources = { VCPU: 1, MEMORY_MB: 64 },
    ...extraSpecs
  }: { readonly resources?: Resources } & Record<string, unknown> = {},
  claimed: InstanceToBuild['claimed'] = {},
): InstanceToBuild {
  const requestSpec = aRequestSpec({ extraSpecs: extraSpecs as Record<string, string> });
  return { uuid: randomUUID(), name: 'web-1', projectId: 'p', resources, requestSpec, claimed, mappings: {} };
}

const sh = (script: string) => ({ 'berth:command': JSON.stringify(['/bin/sh', '-c', script]) });
const containerOf = (uuid: string) => docker.getContainer(`berth-${uuid}`);
const runningIds = async (driver: Driver) => (await driver.list()).map(({ id }) => id).sort();

/** What a command prints that runs in a container. */
async function printed(uuid: string, ...Cmd: string[]): Promise<string> {
  const exec = await containerOf(uuid).exec({ Cmd, AttachStdout: true, Tty: true });
  const stream = await exec.start({ Tty: true });
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text.trim();
}

const when = isOff ? describe.skip : describe;
if (isOff) process.stderr.write('BERTH_TEST_DOCKER=off: the docker driver is not tested\n');

when('the docker driver', () => {
  it('holds a container to its memory, its cores and its devices', async () => {
    const driver = await open({ DEVICES: 'null0=/dev/null,other0=/dev/zero' });
    const instance = anInstance({ resources: { VCPU: 1, MEMORY_MB: 64 } }, { null0: { CUSTOM_NULL: 1 } });
    await driver.build(instance, never);
    const { HostConfig } = await containerOf(instance.uuid).inspect();
    expect(HostConfig).toMatchObject({ Memory: 64 * 2 ** 20, MemorySwap: 64 * 2 ** 20 });
    expect(HostConfig.Devices).toMatchObject([{ PathOnHost: '/dev/null' }]);
    expect(HostConfig.Devices).toHaveLength(1);
    expect(await printed(instance.uuid, 'nproc')).toBe('1');
    expect(await printed(instance.uuid, 'env')).toContain(`BERTH_INSTANCE_UUID=${instance.uuid}`);
    expect(await runningIds(driver)).toEqual([instance.uuid]);
    await driver.destroy(instance.uuid);
    await driver.destroy(instance.uuid);
    expect(await runningIds(driver)).toEqual([]);
  });

  it('says what the machine of its engine has', async () => {
    const { NCPU, MemTotal } = await docker.info();
    const { inventories } = (await open()).capacity();
    expect(inventories).toMatchObject({ VCPU: { total: NCPU }, MEMORY_MB: { total: Math.floor(MemTotal / 2 ** 20) } });
  });

  it('finds its containers after a restart, and hears of their end', async () => {
    const first = await open();
    const [one, two] = [anInstance(), anInstance()];
    for (const instance of [one, two]) await first.build(instance, never);
    await first.close();
    await containerOf(two.uuid).kill();
    const next = await open();
    const other = await open({}, 'host-2');
    expect(await runningIds(next)).toEqual([one.uuid]);
    expect((await next.list())[0]?.resources).toEqual(one.resources);
    expect(await runningIds(other)).toEqual([]);
    await containerOf(one.uuid).kill();
    await next.exits.has(1);
    expect(next.exits.items).toEqual([{ uuid: one.uuid, why: 'its container ended with exit code 137' }]);
    for (const { uuid } of [one, two]) await next.destroy(uuid);
  });

  it('hears of what ended while the engine was away', async () => {
    const driver = await open();
    const instance = anInstance();
    await driver.build(instance, never);
    await engine.kill('SIGTERM');
    await engine.restart();
    await driver.exits.has(1);
    expect(driver.exits.items).toMatchObject([{ uuid: instance.uuid }]);
    await driver.destroy(instance.uuid);
  });

  it('stops and starts an instance, and keeps what it wrote', async () => {
    const driver = await open();
    const instance = anInstance(sh('echo x >> /written; exec sleep 3600'));
    await driver.build(instance, never);
    await driver.stop(instance.uuid);
    expect(await runningIds(driver)).toEqual([]);
    const next = await open();
    await next.start(instance.uuid);
    await next.start(instance.uuid);
    expect(await runningIds(next)).toEqual([instance.uuid]);
    expect(await printed(instance.uuid, 'cat', '/written')).toBe('x\r\nx');
    expect([...driver.exits.items, ...next.exits.items]).toEqual([]);
    await next.destroy(instance.uuid);
  });

  it('leaves nothing of a build that fails or is cancelled', async () => {
    const driver = await open();
    await expect(driver.build(anInstance(sh('exit 3')), never)).rejects.toMatchObject({
      reason: 'ended_at_once',
      message: expect.stringContaining('exit code 3'),
    });
    const aborting = new AbortController();
    const cancelled = driver.build(anInstance(), aborting.signal);
    aborting.abort();
    await expect(cancelled).rejects.toMatchObject({ code: 'aborted' });
    expect(await docker.listContainers({ all: true })).toEqual([]);
  });

  it('runs only images that the operator listed', async () => {
    const driver = await open({ ALLOWED: `${OTHER_IMAGE},berth-test:gone` });
    const instance = anInstance({ 'berth:image': OTHER_IMAGE });
    await driver.build(instance, never);
    expect((await containerOf(instance.uuid).inspect()).Config.Image).toBe(OTHER_IMAGE);
    await driver.destroy(instance.uuid);
    for (const [image, reason] of [
      ['somebody/else', 'image_not_allowed'],
      ['berth-test:gone', 'no_such_image'],
    ] as const) {
      await expect(driver.build(anInstance({ 'berth:image': image }), never)).rejects.toMatchObject({ reason });
    }
  });

  it('counts containers that it did not start as external usage', async () => {
    const driver = await open();
    const limits = { NanoCpus: 1_500_000_000, Memory: 128 * 2 ** 20, NetworkMode: 'none' };
    const container = await docker.createContainer({ Image: IMAGE, HostConfig: limits });
    await container.start();
    const resources = { VCPU: 2, MEMORY_MB: 128 };
    expect(await driver.list()).toEqual([{ id: expect.stringMatching(/^container:/), resources }]);
    await container.remove({ force: true });
    expect(await driver.list()).toEqual([]);
  });

  it('says which device file it can not read', async () => {
    await expect(open({ DEVICES: 'gpu0=nvidia0' })).rejects.toMatchObject({
      reason: 'bad_config',
      message: expect.stringContaining("'gpu0=nvidia0'"),
    });
  });

  it('says that its engine does not answer', async () => {
    await expect(open({ SOCKET: '/nowhere/docker.sock' })).rejects.toMatchObject({
      code: 'unavailable',
      reason: 'engine',
    });
  });
});
