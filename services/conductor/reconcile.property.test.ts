import * as fc from 'fast-check';
import type { BuildReport } from '#libs/contracts/compute';
import { BerthError } from '#libs/domain/errors';
import type { Instance } from '#libs/domain/instance';
import { eventGaps } from '#libs/testing/instances/event-gaps';
import type { ConductorDeps } from './context';
import { type Behaviour, ConductorWorld } from './testing/conductor-world';

const HOSTS = ['h1', 'h2', 'h3'];
const BEHAVIOURS: readonly Behaviour[] = ['builds', 'fails', 'refuses', 'is silent', 'late'];

type Action =
  | { readonly kind: 'request'; readonly count: number; readonly minCount: number }
  | { readonly kind: 'stop' | 'start' | 'migrate' | 'confirm' | 'revert'; readonly which: number }
  | { readonly kind: 'request again' | 'terminate' | 'report again' | 'stop by itself'; readonly which: number }
  | { readonly kind: 'report of host' | 'fall silent' | 'come back' | 'new holder'; readonly host: number }
  | { readonly kind: 'old discrepancy again' | 'release claim'; readonly which: number }
  | { readonly kind: 'lie'; readonly host: number; readonly which: number }
  | { readonly kind: 'behave'; readonly host: number; readonly as: Behaviour }
  | { readonly kind: 'take events'; readonly conductor: number; readonly how: TakesEvents }
  | { readonly kind: 'pass time'; readonly ms: number };

/** The broker's treatment of one conductor's events. */
type TakesEvents = 'yes' | 'no' | 'late' | 'without a word';
const CONDUCTORS = 2;

const which = fc.nat(999);
const host = fc.nat(HOSTS.length - 1);
const actions: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ kind: fc.constant('request' as const), count: fc.integer({ min: 1, max: 4 }), minCount: fc.nat(4) }),
  fc.record({ kind: fc.constantFrom('request again' as const, 'report again' as const), which }),
  fc.record({ kind: fc.constantFrom('terminate' as const, 'stop by itself' as const), which }),
  fc.record({ kind: fc.constantFrom('stop' as const, 'start' as const, 'migrate' as const), which }),
  fc.record({ kind: fc.constantFrom('confirm' as const, 'revert' as const), which }),
  fc.record({ kind: fc.constant('report of host' as const), host }),
  fc.record({ kind: fc.constantFrom('fall silent' as const, 'come back' as const, 'new holder' as const), host }),
  fc.record({ kind: fc.constantFrom('old discrepancy again' as const, 'release claim' as const), which }),
  fc.record({ kind: fc.constant('lie' as const), host, which }),
  fc.record({ kind: fc.constant('behave' as const), host, as: fc.constantFrom(...BEHAVIOURS) }),
  fc.record({
    kind: fc.constant('take events' as const),
    conductor: fc.nat(CONDUCTORS - 1),
    how: fc.constantFrom<TakesEvents>('yes', 'no', 'late', 'without a word'),
  }),
  // From within one step of a build to beyond every deadline of the test fleet.
  fc.record({ kind: fc.constant('pass time' as const), ms: fc.constantFrom(0, 1, 50, 3_000, 12_000) }),
);

/** Conductors, and all that may reach them: in any order, late, and twice. */
class Fleet {
  readonly world = new ConductorWorld();
  readonly #requests: string[] = [];
  readonly #takesEvents = new Map<number, TakesEvents>();

  startConductors() {
    return Promise.all(
      Array.from({ length: CONDUCTORS }, (_, n) => this.world.conductor((deps) => this.#withEventsOf(n, deps))),
    );
  }

  takeAllEvents(): void {
    this.#takesEvents.clear();
  }

  #withEventsOf(conductor: number, deps: ConductorDeps): ConductorDeps {
    const send = deps.bus.publish.bind(deps.bus);
    const publish: typeof send = async (topic, message) => {
      const how = this.#takesEvents.get(conductor) ?? 'yes';
      if (how === 'late') await new Promise<void>((resolve) => deps.clock.after(4_000, resolve));
      if (how !== 'no') await send(topic, message);
      if (how === 'no' || how === 'without a word') throw new BerthError('unavailable', 'unconfirmed', 'no confirm');
    };
    return { ...deps, bus: Object.assign(deps.bus, { publish }) };
  }

  async do(action: Action): Promise<void> {
    const { world } = this;
    switch (action.kind) {
      case 'request':
        this.#requests.push(
          await world.request(action.count, undefined, undefined, {
            minCount: Math.min(action.minCount, action.count),
          }),
        );
        return;
      case 'request again': {
        const requestId = pick(this.#requests, action.which);
        if (requestId) await world.request(1, requestId);
        return;
      }
      case 'terminate': {
        const instance = pick(await world.all(), action.which);
        if (instance) await world.terminate(instance.uuid);
        return;
      }
      case 'stop':
      case 'start':
      case 'migrate':
      case 'confirm':
      case 'revert': {
        const instance = pick(await world.all(), action.which);
        // Undecided moves are confirmed in time.
        const options = action.kind === 'migrate' ? { confirmAfterMs: 5_000 } : {};
        if (instance) void world.operate(instance.uuid, action.kind, undefined, options).catch(() => {});
        return;
      }
      case 'report again': {
        const report = pick(world.reports, action.which);
        if (report && isTrueStill(world, report)) await world.sendReport(report);
        return;
      }
      case 'stop by itself': {
        const [uuid, hosts] = pick([...world.running], action.which) ?? [];
        for (const name of hosts ?? []) if (!world.stopped.has(`${uuid} ${name}`)) hosts?.delete(name);
        return;
      }
      case 'report of host':
        return this.reportHost(HOSTS[action.host] ?? 'h1');
      case 'fall silent':
        return world.setUp(HOSTS[action.host] ?? 'h1', false);
      case 'come back':
        await world.setUp(HOSTS[action.host] ?? 'h1', true);
        return this.reportHost(HOSTS[action.host] ?? 'h1');
      case 'new holder': {
        const name = HOSTS[action.host] ?? 'h1';
        world.epochs.set(name, (world.epochs.get(name) ?? 1) + 1);
        return;
      }
      case 'old discrepancy again': {
        const discrepancy = pick(world.discrepancies, action.which);
        if (discrepancy) await world.sendDiscrepancy(discrepancy);
        return;
      }
      case 'release claim': {
        const instance = pick(await world.all(), action.which);
        if (instance) await this.releaseClaim(instance);
        return;
      }
      case 'lie': {
        const instance = pick(await world.all(), action.which);
        const uuids = [world.random.uuid(), ...(instance ? [instance.uuid] : [])];
        const name = HOSTS[action.host] ?? 'h1';
        const unclaimed = uuids.map((uuid) => world.runningInstance(uuid, name, { resources: { VCPU: 99 } }));
        return world.sendDiscrepancy(world.discrepancy(name, { unclaimed }));
      }
      case 'behave':
        world.behaviour.set(HOSTS[action.host] ?? 'h1', action.as);
        return;
      case 'take events':
        this.#takesEvents.set(action.conductor, action.how);
        return;
      case 'pass time':
        return world.clock.advance(action.ms);
    }
  }

  /** The present differences of a host's report and the store, heard twice. */
  async reportHost(name: string): Promise<void> {
    const { world } = this;
    const claims = new Set(await world.claims());
    const runs = new Set(world.runs());
    const here = (entries: Iterable<string>) => [...entries].filter((entry) => entry.endsWith(` ${name}`));
    const uuidOf = (entry: string) => entry.split(' ')[0] ?? '';
    const unclaimed = here(runs).filter((entry) => !claims.has(entry));
    const missing = here(claims).filter((entry) => !runs.has(entry));
    const present = here(runs).filter((entry) => claims.has(entry));
    const discrepancy = world.discrepancy(name, {
      present: present.map((entry) => world.runningInstance(uuidOf(entry), name)),
      unclaimed: unclaimed.map((entry) => world.runningInstance(uuidOf(entry), name)),
      missing: missing.map(uuidOf),
    });
    for (let times = 0; times < 2; times++) {
      await world.sendDiscrepancy(discrepancy);
      await world.clock.advance(0);
    }
  }

  /** As a client of the placement API does that deletes what is not its own. */
  async releaseClaim({ uuid }: Instance): Promise<void> {
    const { placement, clock } = this.world;
    const [held] = await placement.consumers([uuid]);
    if (!held) return;
    await placement.commit({
      kind: 'release_claim',
      atMs: clock.now(),
      consumerUuid: uuid,
      claimToken: held.claimToken,
    });
  }

  /** Hosts build again, those that were late say what they built, and all deadlines pass. */
  async passDeadlines(): Promise<void> {
    const { world } = this;
    for (const name of HOSTS) world.behaviour.set(name, 'builds');
    // A fenced host is heard again only when its fence has run out, and may be fenced once more until then.
    for (let heardAtMs = 0; heardAtMs <= 30_000; heardAtMs += AGENT_RETRY_MS) {
      for (const name of HOSTS) await world.setUp(name, true);
      await world.clock.advance(AGENT_RETRY_MS);
    }
    await world.clock.advance(60_000);
    for (const order of world.orders) {
      if (world.running.get(order.instanceUuid)?.has(order.host)) await world.report(order, 'active');
    }
    await world.clock.advance(60_000);
  }

  /** Every host reports what it runs, until nothing is left to repair. */
  async repair(): Promise<void> {
    for (let round = 0; round < REPAIR_ROUNDS; round++) {
      for (const name of HOSTS) await this.reportHost(name);
      await this.world.clock.advance(12_000);
    }
  }
}

/** A late or repeated report says what its host did; but of a build that it has destroyed since, a host says so first. */
function isTrueStill(world: ConductorWorld, { outcome, instanceUuid, host: name }: BuildReport): boolean {
  return outcome !== 'active' || (world.running.get(instanceUuid)?.has(name) ?? false);
}

/** A host does nothing about what it does not have any more: that it is gone, its reports say. */
function isGoneWhileChanging(world: ConductorWorld, { uuid, state, host: name = '' }: Instance): boolean {
  return (state === 'stopping' || state === 'starting') && !world.running.get(uuid)?.has(name);
}

function pick<T>(items: readonly T[], index: number): T | undefined {
  return items.length === 0 ? undefined : items[index % items.length];
}

function activeOnHosts(records: readonly Instance[]): string[] {
  const active = records.filter(({ state }) => state === 'active' || state === 'stopped');
  return active.map(({ uuid, host: name }) => `${uuid} ${name}`).sort();
}

/** Time after which an agent that was refused asks for its hosts again. */
const AGENT_RETRY_MS = 2_000;
const RESTING: readonly Instance['state'][] = ['active', 'stopped', 'error', 'deleted'];
/** One more than two reports of each host in a row, and time for the audit between them. */
const REPAIR_ROUNDS = 4;

it('rests, harms nothing and tells every step, whatever triggers come, in any order, late and twice', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(actions, { minLength: 4, maxLength: 30 }), async (history) => {
      const fleet = new Fleet();
      const { world } = fleet;
      await world.open({ h1: 3, h2: 3, h3: 3 });
      const conductors = await fleet.startConductors();
      for (const action of history) await fleet.do(action);

      // Without any repair: all are at rest, and nothing runs where its record does not have it.
      await fleet.passDeadlines();
      const isAtRest = (record: Instance) => RESTING.includes(record.state) || isGoneWhileChanging(world, record);
      expect((await world.all()).filter((record) => !isAtRest(record))).toEqual([]);
      const wanted = activeOnHosts(await world.all());
      expect(world.runs().filter((one) => !wanted.includes(one))).toEqual([]);

      // Some stopped by themselves, and only their host's report says so.
      await fleet.repair();
      expect(world.harmed).toEqual([]);
      const active = (await world.all()).filter(({ state }) => state === 'active' || state === 'stopped');
      const stopped = active
        .filter(({ state }) => state === 'stopped')
        .map(({ uuid, host: name }) => `${uuid} ${name}`);
      expect(new Set(stopped)).toEqual(world.stopped);
      expect(activeOnHosts(active)).toEqual(world.runs());
      expect(await world.claims()).toEqual(world.runs());
      const held = await world.placement.consumers(active.map(({ uuid }) => uuid));
      expect(new Map(held.map((one) => [one.uuid, one.claimToken]))).toEqual(
        new Map(active.map((one) => [one.uuid, one.claimToken])),
      );

      // Whatever became of events on the way, a listener has heard of every version, in order.
      fleet.takeAllEvents();
      await world.clock.advance(60_000);
      expect(eventGaps(world.events, await world.all())).toEqual([]);

      await world.closed(...conductors);
    }),
    { numRuns: 100 },
  );
}, 60_000);
