import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import type { Client } from '#libs/client/client';
import { connect } from '#libs/client/connect';
import type { InstanceEvent } from '#libs/contracts/instance';
import { type Child, startChild } from '#libs/testing/servers/child';
import { type DockerEngine, startDocker } from '#libs/testing/servers/docker-engine';
import type { TestServer } from '#libs/testing/servers/server-process';
import { startRedis } from '#libs/testing/servers/servers';
import { type OwnVirtualHost, ownVirtualHost } from '../../shared-servers';
import { eventually } from '../test-cell';

/* Containers through their lives: a whole Berth, with agents of two hosts on a real engine that this test starts. */

const IMAGE = 'berth-test:1';
const LIMIT = { timeoutMs: 60_000 };
const SMALL = { VCPU: 1, MEMORY_MB: 64 };

let engine: DockerEngine;
let docker: Docker;
let broker: OwnVirtualHost;
let redis: TestServer;
let client: Client;
let folder: string;
let deviceFolder: string;
const children: Child[] = [];

async function launch(name: string, env: Readonly<Record<string, string>> = {}): Promise<Child> {
  const child = startChild('services/cli/main.ts', [name], {
    BERTH_BUS_URL: broker.url,
    BERTH_STORE_URL: redis.url,
    ...env,
  });
  children.push(child);
  await child.says('"msg":"running"');
  return child;
}

const gpu = () => join(deviceFolder, 'gpu');

function launchAgent(host: string, providers = ''): Promise<Child> {
  return launch('compute-agent', {
    BERTH_AGENT_HOST: host,
    BERTH_AGENT_STATE_DIR: join(folder, host),
    BERTH_AGENT_DRIVER: 'docker',
    BERTH_AGENT_DOCKER_SOCKET: engine.socket,
    BERTH_AGENT_DOCKER_IMAGE: IMAGE,
    BERTH_AGENT_DOCKER_NETWORK: 'none',
    BERTH_AGENT_DOCKER_PULL: 'never',
    BERTH_AGENT_DOCKER_STOP_MS: '1000',
    BERTH_AGENT_DOCKER_DEVICES: `gpu0=${gpu()}`,
    BERTH_AGENT_PROVIDERS: providers,
    BERTH_AGENT_INVENTORY: 'VCPU=8,MEMORY_MB=2048',
    BERTH_AGENT_LOOK_INTERVAL_MS: '200',
    BERTH_AGENT_REPORT_INTERVAL_MS: '500',
    BERTH_AGENT_REPORT_MIN_INTERVAL_MS: '100',
  });
}

const launchFirst = () => launchAgent('host-1', 'gpu0 VGPU=1');
let first: Child;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'berth-docker-fleet-'));
  deviceFolder = mkdtempSync('/dev/shm/berth-docker-fleet-');
  makeDevice();
  [engine, broker, redis] = await Promise.all([startDocker(), ownVirtualHost(), startRedis()]);
  engine.makeImage(IMAGE);
  docker = new Docker({ socketPath: engine.socket });
  for (const name of ['scheduler', 'conductor']) await launch(name);
  first = await launchFirst();
  await launchAgent('host-2');
  client = await connect({ url: broker.url });
});
afterEach(async () => {
  for (const { uuid } of await client.instances()) await client.terminateAndWait(uuid, LIMIT);
  await eventually('no container is left', async () => (await docker.listContainers({ all: true })).length === 0);
});
afterAll(async () => {
  await client?.close();
  for (const child of children) child.process.kill('SIGTERM');
  await Promise.all(children.map(({ exit }) => exit));
  await Promise.all([engine, broker, redis].map((server) => server?.stop()));
  for (const one of [folder, deviceFolder]) rmSync(one, { recursive: true, force: true });
});

/** A copy of /dev/null. */
function makeDevice(): void {
  if (!existsSync(gpu())) execFileSync('mknod', [gpu(), 'c', '1', '3']);
}

async function build(resources: Readonly<Record<string, number>> = SMALL, host = 'host-1'): Promise<string> {
  const spec = { projectId: 'demo', userId: 'me', resources, forceHosts: [host] };
  const [built] = await client.buildAndWait({ spec }, LIMIT);
  expect(built).toMatchObject({ state: 'active', host, fault: undefined });
  return built?.instanceUuid ?? '';
}

function operate(
  uuid: string,
  operation: Parameters<Client['operate']>[1],
  options: Parameters<Client['operateAndWait']>[2] = {},
): Promise<InstanceEvent> {
  return client.operateAndWait(uuid, operation, { ...LIMIT, ...options });
}

const containerOf = (uuid: string, host = 'host-1') => docker.getContainer(`berth-${host}-${uuid}`).inspect();
const memoryMbOf = async (uuid: string) => ((await containerOf(uuid)).HostConfig.Memory ?? 0) / 2 ** 20;

it('resizes and stops instances, and finds them so when its agent was killed', async () => {
  const [resized, stopped, reverted] = [await build(), await build(), await build()];
  const before = await containerOf(resized);
  const resizeTo = { resources: { VCPU: 1, MEMORY_MB: 96 } };
  await client.setHostEnabled('host-2', false);
  for (const uuid of [resized, reverted]) {
    const answer = await operate(uuid, 'resize', { resizeTo });
    expect(answer).toMatchObject({ state: 'verify_resize', host: 'host-1' });
    expect(await memoryMbOf(uuid)).toBe(96);
  }
  await client.setHostEnabled('host-2', true);
  expect((await containerOf(resized)).Id).toBe(before.Id);
  expect(await operate(resized, 'confirm')).toMatchObject({ state: 'active' });
  expect(await operate(stopped, 'stop')).toMatchObject({ state: 'stopped' });
  expect((await containerOf(stopped)).State.Running).toBe(false);

  first.process.kill('SIGKILL');
  await first.exit;
  first = await launchFirst();

  expect(await operate(reverted, 'revert')).toMatchObject({ state: 'active', fault: undefined });
  expect(await memoryMbOf(reverted)).toBe(64);
  expect(await operate(stopped, 'start')).toMatchObject({ state: 'active', fault: undefined });
  for (const uuid of [resized, stopped, reverted]) {
    expect(await client.instance(uuid)).toMatchObject({ state: 'active', host: 'host-1' });
    expect((await containerOf(uuid)).State.Running).toBe(true);
  }
  expect((await client.doubts()).doubts).toEqual([]);
});

it('moves an instance cold, there and back, and says that it can not do so live', async () => {
  const uuid = await build();
  expect(await operate(uuid, 'live_migrate', { targetHost: 'host-2' })).toMatchObject({
    state: 'active',
    host: 'host-1',
    fault: { message: expect.stringContaining('can not be migrated while it runs') },
  });
  expect((await containerOf(uuid)).State.Running).toBe(true);
  await isSettled(uuid);
  expect(await operate(uuid, 'migrate', { targetHost: 'host-2' })).toMatchObject({ host: 'host-2' });
  expect((await containerOf(uuid)).State.Running).toBe(false);
  expect((await containerOf(uuid, 'host-2')).State.Running).toBe(true);
  expect(await operate(uuid, 'revert')).toMatchObject({ state: 'active', host: 'host-1' });
  expect((await containerOf(uuid)).State.Running).toBe(true);
  await isSettled(uuid);
  await operate(uuid, 'migrate', { targetHost: 'host-2' });
  await operate(uuid, 'confirm');
  await isSettled(uuid);
  await expect(containerOf(uuid)).rejects.toMatchObject({ statusCode: 404 });
  expect((await containerOf(uuid, 'host-2')).State.Running).toBe(true);
});

it('keeps what a device that vanishes is claimed by, shows and reserves it, and has it again when it is back', async () => {
  const uuid = await build({ ...SMALL, VGPU: 1 });
  expect((await containerOf(uuid)).HostConfig.Devices).toMatchObject([{ PathOnHost: gpu() }]);
  rmSync(gpu());
  await eventually('what is gone is shown', async () => (await client.overAllocated()).length > 0);
  expect(await client.overAllocated()).toMatchObject([
    { providerName: 'host-1:gpu0', host: 'host-1', resourceClass: 'VGPU', used: 1, capacity: 0 },
  ]);
  const wantsGpu = { projectId: 'demo', userId: 'me', resources: { VGPU: 1 } };
  expect((await client.explain(wantsGpu)).diagnosis.hostsPassed).toBe(0);
  expect((await containerOf(uuid)).State.Running).toBe(true);
  expect(await operate(uuid, 'stop')).toMatchObject({ state: 'stopped' });
  expect(await operate(uuid, 'start')).toMatchObject({ state: 'stopped', fault: { reason: 'provider_gone' } });
  makeDevice();
  await eventually('it is back', async () => (await client.overAllocated()).length === 0);
  expect(await operate(uuid, 'start')).toMatchObject({ state: 'active', fault: undefined });
});

/** Waits until nothing is left of its move. */
function isSettled(uuid: string): Promise<void> {
  return eventually('nothing of its move is left', async () => (await client.instance(uuid)).migration === undefined);
}
