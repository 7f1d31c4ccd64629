import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Docker from 'dockerode';
import { inventory, type Resources } from '#libs/domain/inventory';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { Inbox } from '#libs/testing/bus/inbox';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { type DockerEngine, startDocker } from '#libs/testing/servers/docker-engine';
import { openDockerDriver } from '../../../services/compute-agent/drivers/docker/docker-driver';
import { dockerDriverOptions } from '../../../services/compute-agent/drivers/docker/docker-options';
import type { Driver, InstanceToBuild, NestedCapacity } from '../../../services/compute-agent/drivers/driver';

/* The docker driver on a real engine that this test starts. BERTH_TEST_DOCKER=off leaves it out (jest.config.cjs). */

const IMAGE = 'berth-test:1';
const OTHER_IMAGE = 'berth-test:other';
const never = new AbortController().signal;
const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };

let engine: DockerEngine | undefined;
let docker: Docker;
const opened: Driver[] = [];

beforeAll(async () => {
  engine = await startDocker();
  docker = new Docker({ socketPath: engine.socket });
  for (const name of [IMAGE, OTHER_IMAGE]) engine.makeImage(name);
});
afterEach(async () => {
  for (const driver of opened.splice(0)) await driver.close();
  if (!engine) return;
  for (const { Id } of await docker.listContainers({ all: true }))
    await docker.getContainer(Id).remove({ force: true });
});
afterAll(() => engine?.stop());

interface TestDriver extends Driver {
  readonly exits: Inbox<{ readonly uuid: string; readonly why: string }>;
}

async function open(
  settings: Readonly<Record<string, string>> = {},
  name = 'host-1',
  nested: readonly NestedCapacity[] = [],
  cell = 'cell1',
): Promise<TestDriver> {
  const all = { SOCKET: engine?.socket ?? '', IMAGE, NETWORK: 'none', PULL: 'never', STOP_MS: '1000', ...settings };
  const env = Object.fromEntries(Object.entries(all).map(([key, value]) => [`BERTH_AGENT_DOCKER_${key}`, value]));
  const capacity = { inventories: undefined, traits: [], nested, capabilities: {} };
  const driver = await openDockerDriver({ name, cell, capacity }, readConfig(dockerDriverOptions, env), around);
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

/** For kernels with cgroups of version 1. */
const MEMORY_LIMIT_V1 = '/sys/fs/cgroup/memory/memory.limit_in_bytes';
const sh = (script: string) => ({ 'berth:command': JSON.stringify(['/bin/sh', '-c', script]) });
const containerOf = (uuid: string, host = 'host-1') => docker.getContainer(`berth-${host}-${uuid}`);
const runningIds = async (driver: Driver) => (await driver.list()).map(({ id }) => id).sort();

/** The output of a command in a container. */
async function printed(uuid: string, ...Cmd: string[]): Promise<string> {
  const exec = await containerOf(uuid).exec({ Cmd, AttachStdout: true, Tty: true });
  const stream = await exec.start({ Tty: true });
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text.trim();
}

describe('the docker driver', () => {
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
    await engine?.kill('SIGTERM');
    await engine?.restart();
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

  it('says why an instance can not be started, and leaves it stopped', async () => {
    const driver = await open();
    const instance = anInstance(sh('test -e /ran && exit 3; echo > /ran; exec sleep 3600'));
    await driver.build(instance, never);
    await driver.stop(instance.uuid);
    await expect(driver.start(instance.uuid)).rejects.toMatchObject({ reason: 'ended_at_once' });
    expect(await runningIds(driver)).toEqual([]);
    expect(driver.exits.items).toEqual([]);
    await driver.destroy(instance.uuid);
    await expect(driver.start(instance.uuid)).rejects.toMatchObject({ reason: 'not_startable' });
  });

  it('keeps what is built to be stopped, and runs it when it is started', async () => {
    const driver = await open();
    const instance = { ...anInstance(), powerState: 'shutdown' } as const;
    await driver.build(instance, never);
    expect(await runningIds(driver)).toEqual([]);
    const next = await open();
    await next.start(instance.uuid);
    expect(await runningIds(next)).toEqual([instance.uuid]);
    await next.destroy(instance.uuid);
  });

  it('does not take for lost what somebody has paused', async () => {
    const driver = await open();
    const instance = anInstance();
    await driver.build(instance, never);
    await containerOf(instance.uuid).pause();
    expect(await runningIds(await open())).toEqual([instance.uuid]);
    await containerOf(instance.uuid).unpause();
    await driver.destroy(instance.uuid);
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

  describe('resizing', () => {
    const small = { VCPU: 1, MEMORY_MB: 64 };
    const writes = sh('echo x >> /written; echo x >> /data/written; exec sleep 3600');

    /** Resizes an instance, stopping it first as a move does. */
    async function resize(driver: TestDriver, instance: InstanceToBuild, change: Partial<InstanceToBuild>) {
      await driver.moves?.handOver(instance.uuid, false, never);
      const resized = { ...instance, ...change };
      await driver.moves?.resize(resized);
      return resized;
    }

    it('updates the container in place: cores and memory; a later run finds it with what it has now', async () => {
      const driver = await open();
      const instance = anInstance({ resources: { ...small, CUSTOM_LICENSE: 1 }, ...writes });
      await driver.build(instance, never);
      const before = await containerOf(instance.uuid).inspect();
      const resources = { VCPU: 2, MEMORY_MB: 96, CUSTOM_LICENSE: 1 };
      await resize(driver, instance, { resources });
      const { Id, HostConfig } = await containerOf(instance.uuid).inspect();
      expect(Id).toBe(before.Id);
      expect(HostConfig).toMatchObject({ Memory: 96 * 2 ** 20, MemorySwap: 96 * 2 ** 20 });
      expect(await printed(instance.uuid, 'nproc')).toBe('2');
      expect(await printed(instance.uuid, 'cat', '/sys/fs/cgroup/memory.max', MEMORY_LIMIT_V1)).toContain(
        String(96 * 2 ** 20),
      );
      expect(await printed(instance.uuid, 'cat', '/written')).toBe('x\r\nx');
      await driver.close();
      const next = await open();
      expect(await next.list()).toEqual([{ id: instance.uuid, resources }]);
      await resize(next, instance, { resources: { ...small, CUSTOM_LICENSE: 1 } });
      expect(await printed(instance.uuid, 'nproc')).toBe('1');
      expect(await (await open()).list()).toMatchObject([{ resources: small }]);
      expect([...driver.exits.items, ...next.exits.items]).toEqual([]);
      await next.destroy(instance.uuid);
    });

    it('makes another container where the engine can not, of the same content and with the devices of its new size', async () => {
      const driver = await open({ DEVICES: 'null0=/dev/null' });
      const claimed = { null0: { CUSTOM_NULL: 1 } };
      const mappings = { '1': ['null0'] };
      const instance = anInstance({ resources: small, ...writes });
      await driver.build(instance, never);
      const before = await containerOf(instance.uuid).inspect();
      const larger = { ...small, CUSTOM_NULL: 1 };
      await resize(driver, instance, { resources: larger, claimed, mappings });
      const { Id, HostConfig } = await containerOf(instance.uuid).inspect();
      expect(Id).not.toBe(before.Id);
      expect(HostConfig.Devices).toMatchObject([{ PathOnHost: '/dev/null' }]);
      expect(await printed(instance.uuid, 'cat', '/written')).toBe('x\r\nx');
      expect(await printed(instance.uuid, 'env')).toContain('BERTH_MAPPINGS={"1":["null0"]}');
      await driver.close();
      const next = await open();
      expect(await next.list()).toEqual([{ id: instance.uuid, resources: larger }]);
      await resize(next, instance, { resources: small });
      for (const file of ['/written', '/data/written']) {
        expect(await printed(instance.uuid, 'cat', file)).toBe('x\r\nx\r\nx');
      }
      expect(await printed(instance.uuid, 'env')).not.toContain('BERTH_MAPPINGS');
      expect((await containerOf(instance.uuid).inspect()).HostConfig.Devices).toEqual([]);
      expect([...driver.exits.items, ...next.exits.items]).toEqual([]);
      await next.destroy(instance.uuid);
      expect(await docker.listContainers({ all: true })).toEqual([]);
      expect((await docker.listImages()).flatMap(({ RepoTags }) => RepoTags ?? []).sort()).toEqual([
        IMAGE,
        OTHER_IMAGE,
      ]);
    });

    it('keeps what it can not resize as it was, and starts it then', async () => {
      const driver = await open({ DEVICES: 'null0=/dev/null,gone0=/dev/gone' });
      const instance = anInstance({ resources: small, ...writes });
      await driver.build(instance, never);
      const tooSmall = resize(driver, instance, { resources: { VCPU: 1, MEMORY_MB: 1 } });
      await expect(tooSmall).rejects.toMatchObject({ reason: 'engine_refused' });
      const resources = { ...small, CUSTOM_GONE: 1 };
      const gone = driver.moves?.resize({ ...instance, resources, claimed: { gone0: { CUSTOM_GONE: 1 } } });
      await expect(gone).rejects.toMatchObject({ reason: 'engine_refused' });
      await driver.stop(instance.uuid);
      expect(await runningIds(driver)).toEqual([]);
      await driver.moves?.resize(instance);
      expect(await printed(instance.uuid, 'cat', '/written')).toBe('x\r\nx');
      expect(await driver.list()).toEqual([{ id: instance.uuid, resources: small }]);
      await driver.destroy(instance.uuid);
    });

    it('leaves stopped what is to be stopped', async () => {
      const driver = await open();
      const instance = anInstance({ resources: small });
      await driver.build(instance, never);
      await resize(driver, instance, { resources: { VCPU: 1, MEMORY_MB: 96 }, powerState: 'shutdown' });
      const next = await open();
      expect(await runningIds(next)).toEqual([]);
      await next.start(instance.uuid);
      expect(await next.list()).toMatchObject([{ resources: { VCPU: 1, MEMORY_MB: 96 } }]);
      await next.destroy(instance.uuid);
    });

    it('finds what an agent left that died while it made another container', async () => {
      const [first, second] = [anInstance(), anInstance()];
      const driver = await open();
      for (const instance of [first, second]) await driver.build(instance, never);
      await driver.close();
      const nameOf = ({ uuid }: InstanceToBuild) => `berth-host-1-${uuid}`;
      for (const instance of [first, second]) {
        await containerOf(instance.uuid).rename({ name: `${nameOf(instance)}.replaced` });
      }
      const options = {
        Image: IMAGE,
        Labels: (await docker.getContainer(`${nameOf(second)}.replaced`).inspect()).Config.Labels,
      };
      await docker.createContainer({ ...options, name: nameOf(second) });
      const next = await open();
      expect(await runningIds(next)).toEqual([first.uuid]);
      const names = (await docker.listContainers({ all: true })).flatMap(({ Names }) => Names);
      expect(names.sort()).toEqual([first, second].map((instance) => `/${nameOf(instance)}`).sort());
      for (const { uuid } of [first, second]) await next.destroy(uuid);
    });
  });

  describe('moving', () => {
    it('stops it where it is, and makes it anew where it goes; of one that runs on, it says so', async () => {
      const other = await startDocker();
      try {
        other.makeImage(IMAGE);
        const source = await open();
        const destination = await open({ SOCKET: other.socket }, 'host-2');
        const instance = anInstance(sh('echo x >> /written; exec sleep 3600'));
        await source.build(instance, never);
        const live = source.moves?.handOver(instance.uuid, true, never);
        await expect(live).rejects.toMatchObject({ code: 'unimplemented', reason: 'live_migration_unsupported' });
        expect(await runningIds(source)).toEqual([instance.uuid]);
        const handover = (await source.moves?.handOver(instance.uuid, false, never)) ?? new Uint8Array();
        expect(await source.moves?.handOver(instance.uuid, false, never)).toEqual(handover);
        expect(await runningIds(source)).toEqual([]);
        await destination.moves?.arrive(instance, handover, never);
        expect(await runningIds(destination)).toEqual([instance.uuid]);
        // After a revert it continues in place, with its data.
        await destination.destroy(instance.uuid);
        await source.start(instance.uuid);
        expect(await printed(instance.uuid, 'cat', '/written')).toBe('x\r\nx');
        expect(source.exits.items).toEqual([]);
        await source.destroy(instance.uuid);
        await destination.close();
      } finally {
        await other.stop();
      }
    });

    it('keeps apart the instances of two cells on one engine, though their hosts have one name', async () => {
      const [here, there] = [await open(), await open({}, 'host-1', [], 'east')];
      const instance = anInstance();
      await here.build(instance, never);
      const found = await there.list();
      expect(found).toEqual([{ id: expect.stringMatching(/^container:/), resources: instance.resources }]);
      await there.build(instance, never);
      await there.stop(instance.uuid);
      expect(await runningIds(here)).toEqual([instance.uuid]);
      const next = await open({}, 'host-1', [], 'east');
      expect(await next.list()).toEqual(found);
      await next.start(instance.uuid);
      await docker.getContainer(`berth-host-1-${instance.uuid}_east`).kill();
      await next.exits.has(1);
      await next.destroy(instance.uuid);
      expect([await runningIds(here), here.exits.items]).toEqual([[instance.uuid], []]);
    });

    it('finds what an earlier release made, which says nothing of cells', async () => {
      const uuid = randomUUID();
      const made = { resources: { VCPU: 1, MEMORY_MB: 64 }, cores: [], devices: [] };
      const Labels = { 'berth.host': 'host-1', 'berth.instance': uuid, 'berth.facts': JSON.stringify(made) };
      await docker.createContainer({ name: `berth-host-1-${uuid}`, Image: IMAGE, Labels });
      await containerOf(uuid).start();
      const driver = await open({}, 'host-1', [], 'east');
      expect(await runningIds(driver)).toEqual([uuid]);
      await driver.stop(uuid);
      const next = await open({}, 'host-1', [], 'east');
      await next.start(uuid);
      await next.destroy(uuid);
      expect(await docker.listContainers({ all: true })).toEqual([]);
    });

    it('keeps apart the instances of two hosts on one engine', async () => {
      const [source, destination] = [await open(), await open({}, 'host-2')];
      const instance = anInstance();
      await source.build(instance, never);
      await source.moves?.handOver(instance.uuid, false, never);
      await destination.moves?.arrive(instance, new Uint8Array(), never);
      await source.destroy(instance.uuid);
      expect(await runningIds(destination)).toEqual([instance.uuid]);
      await destination.destroy(instance.uuid);
    });
  });

  it('does not have a provider whose device file is gone, nor what is below it, until it is back', async () => {
    const folder = mkdtempSync('/dev/shm/berth-docker-');
    const file = join(folder, 'gpu');
    writeFileSync(file, '');
    const one = (name: string, parent = '') => ({ name, parent, inventories: { VGPU: inventory(1) }, traits: [] });
    const driver = await open({ DEVICES: `gpu0=${file}` }, 'host-1', [one('gpu0'), one('part', 'gpu0'), one('gpu1')]);
    const names = async () => {
      await driver.list();
      return driver.capacity().nested.map(({ name }) => name);
    };
    expect(await names()).toEqual(['gpu0', 'part', 'gpu1']);
    rmSync(file);
    expect(await names()).toEqual(['gpu1']);
    writeFileSync(file, '');
    expect(await names()).toEqual(['gpu0', 'part', 'gpu1']);
    rmSync(folder, { recursive: true });
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
