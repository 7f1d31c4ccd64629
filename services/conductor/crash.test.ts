import { eventGaps } from '#libs/testing/instances/event-gaps';
import type { ConductorDeps } from './context';
import { type Behaviour, ConductorWorld } from './testing/conductor-world';

/** More than any scenario below takes; the first step at which nothing dies ends it. */
const MOST_STEPS = 200;
const NEVER = new Promise<never>(() => {});

/** Dependencies of a conductor that dies at its `last` step; from then on nothing of it reaches the world. */
function dyingAt(last: number, effect: 'before' | 'after', deps: ConductorDeps): ConductorDeps & { isDead(): boolean } {
  let steps = 0;
  const dying = <T extends object>(target: T, names: readonly (keyof T)[]): T =>
    new Proxy(target, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name, of);
        if (typeof value !== 'function') return value;
        if (!names.includes(name as keyof T)) return value.bind(of) as unknown;
        return async (...args: unknown[]) => {
          steps++;
          if (steps > last || (steps === last && effect === 'before')) return NEVER;
          const result: unknown = await value.apply(of, args);
          return steps >= last ? NEVER : result;
        };
      },
    });
  return {
    ...deps,
    bus: dying(deps.bus, ['call', 'cast', 'publish']),
    placement: dying(deps.placement, ['commit', 'consumers']),
    instances: dying(deps.instances, ['create', 'get', 'update', 'markPublished', 'scanOutbox']),
    isDead: () => steps >= last,
  };
}

/**
 * Runs a scenario once for every step at which the first conductor may die, both just before the step takes effect and
 * just after; a second conductor then takes over what is left. Whatever dies, a listener hears of every version, in order.
 */
async function atEveryStep(
  hosts: Readonly<Record<string, Behaviour>>,
  act: (world: ConductorWorld) => Promise<void>,
  check: (world: ConductorWorld) => Promise<void>,
  vcpus = 10,
): Promise<number> {
  for (let step = 1; step < MOST_STEPS; step++) {
    let hasDied = false;
    for (const effect of ['before', 'after'] as const) {
      const world = new ConductorWorld();
      await world.open(Object.fromEntries(Object.keys(hosts).map((host) => [host, vcpus])));
      for (const [host, behaviour] of Object.entries(hosts)) world.behaviour.set(host, behaviour);
      let first: ReturnType<typeof dyingAt> | undefined;
      const conductor = await world.conductor((deps) => {
        first = dyingAt(step, effect, deps);
        return first;
      });
      await act(world);
      hasDied ||= first?.isDead() ?? false;
      // The connection of the dead goes; what it had in hand goes to the next.
      const closing = first?.bus.close();
      await world.clock.advance(1_000);
      await closing;
      const second = await world.conductor();
      await world.clock.advance(120_000);
      await check(world);
      expect(eventGaps(world.events, await world.all())).toEqual([]);
      void conductor.close();
      const ending = second.close();
      await world.clock.advance(1_000);
      await ending;
    }
    if (!hasDied) return step;
  }
  throw new Error(`the scenario takes more than ${MOST_STEPS} steps`);
}

it('loses and leaks nothing when a conductor dies at any step of two builds that go to an alternate', async () => {
  const steps = await atEveryStep(
    { h1: 'fails', h2: 'builds', h3: 'builds' },
    async (world) => {
      await world.request(2);
      await world.clock.advance(1_000);
    },
    async (world) => {
      expect((await world.all()).map(({ state }) => state)).toEqual(['active', 'active']);
      expect(world.runs()).toEqual(await world.claims());
      expect(world.runs()).toHaveLength(2);
    },
  );
  expect(steps).toBeGreaterThan(10);
});

it('leaks nothing when a conductor dies at any step of a build that no host can do', async () => {
  await atEveryStep(
    { h1: 'fails', h2: 'refuses' },
    async (world) => {
      await world.request();
      await world.clock.advance(1_000);
    },
    async (world) => {
      expect((await world.all()).map(({ state }) => state)).toEqual(['error']);
      expect([world.runs(), await world.claims()]).toEqual([[], []]);
    },
  );
});

it('ends an instance once when a conductor dies at any step of its build or its termination', async () => {
  await atEveryStep(
    { h1: 'builds' },
    async (world) => {
      const requestId = await world.request();
      await world.clock.advance(500);
      const [instance] = await world.instances.list({ requestId }, undefined, 1);
      if (instance) await world.terminate(instance.uuid);
      await world.clock.advance(500);
    },
    async (world) => {
      const states = (await world.all()).map(({ state }) => state);
      expect([['active'], ['deleted']]).toContainEqual(states);
      expect(world.runs()).toEqual(await world.claims());
      expect(world.runs()).toHaveLength(states[0] === 'active' ? 1 : 0);
    },
  );
});

it('undoes all of a gang that has failed, whichever step of it a conductor dies at', async () => {
  const steps = await atEveryStep(
    { h1: 'builds', h2: 'builds', h3: 'fails' },
    async (world) => {
      await world.request(3, undefined, undefined, { minCount: 3 });
      await world.clock.advance(1_000);
    },
    async (world) => {
      const all = await world.all();
      expect(all.map(({ fault }) => fault?.reason ?? 'none').toSorted()).toEqual([
        'gang_failed',
        'gang_failed',
        'hosts_exhausted',
      ]);
      expect(all.every(({ dueAtMs }) => dueAtMs === undefined)).toBe(true);
      expect([world.runs(), world.harmed]).toEqual([[], []]);
      expect(await world.claims()).toEqual([]);
    },
    1,
  );
  expect(steps).toBeGreaterThan(15);
}, 120_000);
