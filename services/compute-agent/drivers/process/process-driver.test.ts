import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { Inbox } from '#libs/testing/bus/inbox';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import type { Driver, InstanceToBuild } from '../driver';
import { openProcessDriver } from './process-driver';
import { processDriverOptions } from './process-options';

const around = { clock: systemClock(), random: systemRandom, log: silentLog, metrics: createMetrics({}) };
const never = new AbortController().signal;

let root: string;
const opened: Driver[] = [];
const built: string[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-process-driver-'));
});

afterEach(async () => {
  const last = opened.at(-1);
  for (const uuid of built.splice(0)) await last?.destroy(uuid);
  for (const driver of opened.splice(0)) await driver.close();
  rmSync(root, { recursive: true, force: true });
});

/** `settings` without their prefix `BERTH_AGENT_PROCESS_`. */
async function open(settings: Readonly<Record<string, string>> = {}): Promise<Driver> {
  const all = { START_MS: '50', POLL_MS: '20', STOP_MS: '300', ALLOWED: '/bin/sh', ...settings };
  const env = Object.fromEntries(Object.entries(all).map(([name, value]) => [`BERTH_AGENT_PROCESS_${name}`, value]));
  const capacity = { inventories: undefined, traits: [], nested: [], capabilities: {} };
  const driver = await openProcessDriver({ root, capacity }, readConfig(processDriverOptions, env), around);
  opened.push(driver);
  return driver;
}

function anInstance(fields: Partial<InstanceToBuild> & { readonly command?: readonly string[] } = {}): InstanceToBuild {
  const { command, ...rest } = fields;
  const uuid = randomUUID();
  built.push(uuid);
  const extraSpecs = command === undefined ? {} : { 'berth:command': JSON.stringify(command) };
  const requestSpec = aRequestSpec({ extraSpecs });
  return {
    uuid,
    name: 'web-1',
    projectId: 'p1',
    resources: { VCPU: 1, MEMORY_MB: 64 },
    requestSpec,
    claimed: {},
    mappings: {},
    ...rest,
  };
}

const shell = (script: string) => anInstance({ command: ['/bin/sh', '-c', script] });
const pidOf = (uuid: string) => Number(readFileSync(join(root, uuid, 'pid'), 'utf8').split(' ')[0]);
const outputOf = (uuid: string) => readFileSync(join(root, uuid, 'output'), 'utf8');
const isRunning = (pid: number) =>
  existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('stopping', () => {
  it('ends the process and keeps its folder; a start runs the same command in it, after a restart of the agent, too', async () => {
    const driver = await open();
    const instance = shell('echo ran >> ran; exec sleep 100');
    await driver.build(instance, never);
    const pid = pidOf(instance.uuid);
    await driver.stop(instance.uuid);
    await driver.stop(instance.uuid);
    expect(isRunning(pid)).toBe(false);
    expect(await driver.list()).toEqual([]);
    const next = await open();
    expect(await next.list()).toEqual([]);
    await next.start(instance.uuid);
    await next.start(instance.uuid);
    expect(isRunning(pidOf(instance.uuid))).toBe(true);
    expect(pidOf(instance.uuid)).not.toBe(pid);
    expect(readFileSync(join(root, instance.uuid, 'work', 'ran'), 'utf8')).toBe('ran\nran\n');
    expect(await next.list()).toEqual([
      { id: instance.uuid, projectId: instance.projectId, resources: instance.resources },
    ]);
  });

  it('kills what does not heed SIGTERM, and is no exit', async () => {
    const driver = await open();
    const exits: string[] = [];
    driver.onExit((uuid) => exits.push(uuid));
    const instance = shell("trap '' TERM; while :; do sleep 0.05; done");
    await driver.build(instance, never);
    const pid = pidOf(instance.uuid);
    await driver.stop(instance.uuid);
    expect(isRunning(pid)).toBe(false);
    expect(exits).toEqual([]);
  });

  it('says why something can not be started, and leaves it stopped', async () => {
    const driver = await open();
    const instance = shell('test -e ran && exit 3; touch ran; exec sleep 100');
    await driver.build(instance, never);
    await driver.stop(instance.uuid);
    await expect(driver.start(instance.uuid)).rejects.toMatchObject({ reason: 'not_started' });
    expect(await driver.list()).toEqual([]);
    await expect(driver.start(randomUUID())).rejects.toMatchObject({ reason: 'not_startable' });
  });
});

describe('building', () => {
  it('starts a process of its own session, with no environment but its own', async () => {
    const driver = await open();
    const instance = shell('env; exec sleep 100');
    await driver.build(instance, never);
    await until(() => outputOf(instance.uuid).includes('BERTH_INSTANCE_UUID'));
    const pid = pidOf(instance.uuid);
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
    expect(stat[5]).toBe(String(pid));
    expect(outputOf(instance.uuid)).toContain(`BERTH_INSTANCE_UUID=${instance.uuid}`);
    expect(outputOf(instance.uuid)).not.toContain('NODE');
    expect(await driver.list()).toEqual([
      { id: instance.uuid, projectId: instance.projectId, resources: instance.resources },
    ]);
  });

  it('holds the process to its resources', async () => {
    const driver = await open();
    const instance = anInstance({ resources: { VCPU: 1, MEMORY_MB: 100, DISK_GB: 2 } });
    await driver.build(instance, never);
    const pid = pidOf(instance.uuid);
    const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
    expect(limits).toMatch(/^Max data size +104857600 +104857600 /m);
    expect(limits).toMatch(/^Max file size +2147483648 +2147483648 /m);
    expect(limits).toMatch(/^Max core file size +0 +0 /m);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    expect(status).toMatch(/^Cpus_allowed_list:\t\d+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
  });

  it('runs it as the user that is configured, or not at all', async () => {
    const driver = await open({ UID: '65534' });
    const instance = anInstance();
    const user = await driver.build(instance, never).then(
      () => /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pidOf(instance.uuid)}/status`, 'utf8'))?.[1],
      () => 'none',
    );
    expect(user).toBe(process.getuid?.() === 0 ? '65534' : 'none');
  });

  it('does not give a process more memory than its instance has', async () => {
    const driver = await open({ START_MS: '30000' });
    const eat = 'x=$(head -c 200000000 /dev/zero | tr "\\0" x); exec sleep 100';
    const failing = driver.build(shell(eat), never);
    await expect(failing).rejects.toMatchObject({ reason: 'not_started' });
  });

  it('fails with what the process said when it ends at once, and leaves nothing', async () => {
    const driver = await open();
    const instance = shell('echo no such image >&2; exit 3');
    await expect(driver.build(instance, never)).rejects.toMatchObject({
      reason: 'not_started',
      message: 'it ended with exit code 3: no such image',
    });
    expect(existsSync(join(root, instance.uuid))).toBe(false);
    expect(await driver.list()).toEqual([]);
  });

  it('fails when the program is not there', async () => {
    const driver = await open({ COMMAND: '/no/such/program' });
    await expect(driver.build(anInstance(), never)).rejects.toMatchObject({ reason: 'not_started' });
  });

  it('ends what it started when it is cancelled', async () => {
    const driver = await open({ START_MS: '60000' });
    const cancelling = new AbortController();
    const instance = anInstance();
    const building = driver.build(instance, cancelling.signal);
    await until(() => existsSync(join(root, instance.uuid, 'pid')));
    const pid = pidOf(instance.uuid);
    cancelling.abort();
    await expect(building).rejects.toMatchObject({ reason: 'cancelled' });
    expect(isRunning(pid)).toBe(false);
    expect(existsSync(join(root, instance.uuid))).toBe(false);
  });
});

describe('commands of requests', () => {
  it.each([
    ['a program that is not listed', ['/bin/sleep', '1']],
    ['a program by another name than its path', ['sh', '-c', 'sleep 1']],
    ['a path that leads out of what is listed', ['/bin/../bin/sleep', '1']],
  ])('refuses %s', async (_, command) => {
    const driver = await open();
    const building = driver.build(anInstance({ command }), never);
    await expect(building).rejects.toMatchObject({ code: 'permission_denied', reason: 'command_not_allowed' });
  });

  it('refuses what is no array of words', async () => {
    const driver = await open();
    for (const text of ['sleep 1', '[]', '[1]', '["/bin/sh\\u0000"]', '{']) {
      const requestSpec = aRequestSpec({ extraSpecs: { 'berth:command': text } });
      const building = driver.build(anInstance({ requestSpec }), never);
      await expect(building).rejects.toMatchObject({ code: 'invalid_argument', reason: 'malformed_command' });
    }
  });

  it('hands words on as they are: no shell sees them', async () => {
    const driver = await open({ ALLOWED: '/bin/echo,/bin/sh' });
    const instance = shell('printf "%s" "$0"; exec sleep 100');
    const requestSpec = aRequestSpec({
      extraSpecs: { 'berth:command': '["/bin/sh","-c","printf %s \\"$0\\"; exec sleep 100","$(id) ; `id` \\"\\""]' },
    });
    await driver.build({ ...instance, requestSpec }, never);
    await until(() => outputOf(instance.uuid) !== '');
    expect(outputOf(instance.uuid)).toBe('$(id) ; `id` ""');
  });
});

describe('ending', () => {
  it('tells when a process ends by itself, and how', async () => {
    const driver = await open();
    const exits = new Inbox<string>();
    driver.onExit((uuid, why) => exits.put(`${uuid} ${why}`));
    const instance = shell('sleep 0.3; exit 7');
    await driver.build(instance, never);
    expect(await exits.has(1)).toEqual([`${instance.uuid} it ended with exit code 7`]);
    expect(await driver.list()).toEqual([]);
  });

  it('destroys a process with all that it started, also what ignores SIGTERM', async () => {
    const driver = await open();
    const exits = new Inbox<string>();
    driver.onExit((uuid) => exits.put(uuid));
    const instance = shell('trap "" TERM; sleep 1000 & echo $!; while :; do sleep 0.1; done');
    await driver.build(instance, never);
    const [leader, child] = [pidOf(instance.uuid), Number(outputOf(instance.uuid).trim())];
    expect([isRunning(leader), isRunning(child)]).toEqual([true, true]);
    await driver.destroy(instance.uuid);
    await until(() => !isRunning(child));
    expect(isRunning(leader)).toBe(false);
    expect(existsSync(join(root, instance.uuid))).toBe(false);
    expect(exits.items).toEqual([]);
  });

  it('destroys what is not there', async () => {
    const driver = await open();
    await expect(driver.destroy(randomUUID())).resolves.toBeUndefined();
  });

  describe('beside a process that is not its own', () => {
    let stranger: ChildProcess;

    beforeEach(async () => {
      stranger = spawn('sleep', ['1234'], { detached: true, stdio: 'ignore' });
      await once(stranger, 'spawn');
    });

    afterEach(() => stranger.kill('SIGKILL'));

    it('does not touch a process that has the pid of one that is gone', async () => {
      const uuid = randomUUID();
      const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
      mkdirSync(join(root, uuid));
      writeFileSync(join(root, uuid, 'facts.json'), JSON.stringify({ bootId, resources: {} }));
      writeFileSync(join(root, uuid, 'pid'), `${stranger.pid} 1\n`);
      const driver = await open();
      expect(await driver.list()).toEqual([]);
      await driver.destroy(uuid);
      expect(isRunning(stranger.pid ?? 0)).toBe(true);
    });

    it('counts a process whose command line matches as something that runs here', async () => {
      const driver = await open({ EXTERNAL: '^sleep 1234$' });
      await driver.build(anInstance(), never);
      const found = (await driver.list()).filter(({ id }) => id.startsWith('pid:'));
      expect(found).toEqual([{ id: `pid:${stranger.pid}`, resources: { VCPU: 1, MEMORY_MB: expect.any(Number) } }]);
    });
  });
});

describe('after a restart', () => {
  it('finds its processes again, sees them end, and destroys them', async () => {
    const first = await open();
    const [short, long] = [
      shell('while [ ! -e ended ]; do sleep 0.05; done'),
      anInstance({ resources: { VCPU: 2, MEMORY_MB: 32 } }),
    ];
    await first.build(short, never);
    await first.build(long, never);
    await first.close();

    const second = await open();
    const exits = new Inbox<string>();
    second.onExit((uuid) => exits.put(uuid));
    expect((await second.list()).map(({ id }) => id).sort()).toEqual([short.uuid, long.uuid].sort());
    expect((await second.list()).find(({ id }) => id === long.uuid)?.resources).toEqual(long.resources);
    writeFileSync(join(root, short.uuid, 'work', 'ended'), '');
    expect(await exits.has(1)).toEqual([short.uuid]);
    const pid = pidOf(long.uuid);
    await second.destroy(long.uuid);
    expect(isRunning(pid)).toBe(false);
    expect(await second.list()).toEqual([]);
  });
});

it('keeps what is built to be stopped, and runs it when it is started', async () => {
  const driver = await open();
  const instance = anInstance({ powerState: 'shutdown' });
  await driver.build(instance, never);
  expect(await driver.list()).toEqual([]);
  await driver.start(instance.uuid);
  expect(await driver.list()).toMatchObject([{ id: instance.uuid }]);
});
