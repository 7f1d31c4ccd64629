import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostNames } from './host/host-facts';
import { AgentWorld } from './testing/agent-world';

let world: AgentWorld;

beforeEach(() => {
  world = new AgentWorld();
});

afterEach(() => world.close());

it('names hosts so that the alphabet has them in order', () => {
  expect(hostNames({ host: 'h', hosts: 1, driver: 'process' })).toEqual(['h']);
  const names = hostNames({ host: 'h', hosts: 100, driver: 'fake' });
  expect(names.slice(0, 2)).toEqual(['h-001', 'h-002']);
  expect([...names].sort()).toEqual(names);
});

it.each([
  [{ DRIVER: 'process', STATE_DIR: '/tmp', HOSTS: '2' }, /BERTH_AGENT_HOSTS/],
  [{ DRIVER: 'process' }, /BERTH_AGENT_STATE_DIR/],
  [{ INVENTORY: 'VCPU' }, /BERTH_AGENT_INVENTORY/],
  [{ FAKE_EXTERNAL: '1' }, /BERTH_AGENT_FAKE_EXTERNAL/],
])('does not start with %j', async (settings, message) => {
  await expect(world.start(settings)).rejects.toMatchObject({
    reason: 'bad_config',
    message: expect.stringMatching(message),
  });
});

it('does not start when its state folder can not be made, and leaves no host behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-agent-'));
  writeFileSync(join(folder, 'file'), '');
  const starting = world.start({ STATE_DIR: join(folder, 'file') });
  await expect(starting).rejects.toMatchObject({ code: 'failed_precondition', reason: 'state_dir' });
  rmSync(folder, { recursive: true });
  expect(world.clock.pending).toBe(0);
});

it('keeps no timer when it is closed', async () => {
  const before = world.clock.pending;
  const agent = await world.startAll();
  await agent.close();
  await world.settle();
  expect(world.clock.pending).toBe(before);
});

it('is ready when the bus is there and its host takes work', async () => {
  const agent = await world.startAll();
  expect(agent.readiness()).toEqual({ ready: true });
});

it('can be given orders as soon as anybody hears of it', async () => {
  let given: Promise<void> | undefined;
  world.onStats = async () => {
    given ??= world.build();
    await given;
  };
  await world.startAll();
  await world.results.has(1);
  expect(world.outcomes()).toEqual(['1 active']);
});
