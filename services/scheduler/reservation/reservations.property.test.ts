import { type Arbitrary, array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check';
import { capacityOf, inventory } from '#libs/domain/inventory';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { contentsOf, mustCommit } from '#libs/testing/placement/placement';
import { aWorld, hostsOf, type TestScheduler, type World } from '../testing/world';

const HOUR_MS = 3_600_000;
const HOSTS = ['a', 'b'];
const VCPUS = 4;
const OWNER = { projectId: 'owner', userId: 'user-1' };

type Step =
  | { readonly kind: 'build'; readonly vcpus: number; readonly hours: number; readonly project: string }
  | { readonly kind: 'reserve'; readonly vcpus: number; readonly count: number; readonly from: number }
  | { readonly kind: 'use'; readonly vcpus: number; readonly hours: number }
  | { readonly kind: 'wait' };

const vcpus = integer({ min: 1, max: 3 });
const hours = integer({ min: 0, max: 4 });
const step: Arbitrary<Step> = integer({ min: 0, max: 9 }).chain((n): Arbitrary<Step> => {
  if (n < 4) {
    return record({ kind: constantFrom('build' as const), vcpus, hours, project: constantFrom('owner', 'other') });
  }
  if (n < 6)
    return record({ kind: constantFrom('reserve' as const), vcpus, count: integer({ min: 1, max: 3 }), from: hours });
  if (n < 8) return record({ kind: constantFrom('use' as const), vcpus, hours });
  return record({ kind: constantFrom('wait' as const) });
});

/** A fleet as its rows have it: what is left for a use of a host, by looking at each half hour of it. */
class Definition {
  constructor(
    private readonly rows: Awaited<ReturnType<typeof contentsOf>>,
    private readonly nowMs: number,
  ) {}

  /** The least that is left on a host while a use of it lasts, for a claim in none of the reservations. */
  leftOn(host: string, endsAtMs = this.nowMs + 40 * HOUR_MS): number {
    const root = this.rows.hosts.find(({ name }) => name === host)?.providerUuid ?? '';
    const provider = this.rows.providers.find(({ uuid }) => uuid === root);
    const capacity = provider?.inventories['VCPU'] ? capacityOf(provider.inventories['VCPU']) : 0;
    let least = Infinity;
    for (let atMs = this.nowMs; atMs < endsAtMs; atMs += HOUR_MS / 2) {
      const lasting = this.rows.consumers.filter(({ endsAtMs: end = Infinity }) => end > atMs);
      const sum = (some: typeof lasting) => some.reduce((all, one) => all + (one.allocations[root]?.['VCPU'] ?? 0), 0);
      let left = capacity - sum(lasting);
      for (const { name, projectId, fromMs, untilMs, units } of this.rows.reservations) {
        if (atMs < fromMs || atMs >= untilMs) continue;
        const own = lasting.filter((one) => one.reservation === name && one.projectId === projectId);
        const used = sum(own.filter((one) => one.updatedAtMs >= fromMs));
        const reserved = units.reduce((all, unit) => all + (unit.allocations[root]?.['VCPU'] ?? 0), 0);
        left -= Math.max(0, reserved - used);
      }
      least = Math.min(least, left);
    }
    return least;
  }
}

/** Small fleets, on which instances end when their time limit says so. */
class Run {
  /** Selections that the definition contradicts. */
  readonly wrong: string[] = [];
  #named = 0;

  constructor(
    private readonly world: World,
    private readonly scheduler: TestScheduler,
  ) {}

  async definition(): Promise<Definition> {
    return new Definition(await contentsOf(this.world.placement), this.world.clock.now());
  }

  async take(one: Step): Promise<void> {
    const { world, scheduler } = this;
    if (one.kind === 'wait') return this.#wait();
    const nowMs = world.clock.now();
    await scheduler.mirror.waitFor(await world.placement.revision(), { timeoutMs: 1_000 });
    if (one.kind === 'reserve') {
      const window = { fromMs: nowMs + one.from * HOUR_MS, untilMs: nowMs + (one.from + 2) * HOUR_MS };
      const requestSpec = aRequestSpec({ resources: { VCPU: one.vcpus }, ...OWNER });
      const terms = { name: `r${(this.#named += 1)}`, ...window, count: one.count, requestSpec };
      await scheduler.reserve(terms).catch(() => undefined);
      return;
    }
    const timeLimitMs = one.hours > 0 ? one.hours * HOUR_MS : undefined;
    const before = await this.definition();
    const within =
      one.kind === 'use' ? { ...OWNER, reservation: `r${this.#named}` } : { ...OWNER, projectId: one.project };
    const selected = await scheduler.select({ resources: { VCPU: one.vcpus }, ...within }, 1, 0, { timeLimitMs });
    if (one.kind === 'use') return;
    const endsAtMs = timeLimitMs === undefined ? undefined : nowMs + timeLimitMs;
    const couldTake = HOSTS.filter((host) => before.leftOn(host, endsAtMs) >= one.vcpus);
    this.wrong.push(...wrongIn(hostsOf(selected), couldTake));
  }

  /** Half an hour goes by. */
  async #wait(): Promise<void> {
    const { placement, clock } = this.world;
    await clock.advance(HOUR_MS / 2);
    const { consumers } = await contentsOf(placement);
    for (const { uuid: consumerUuid, claimToken, endsAtMs = Infinity } of consumers) {
      if (endsAtMs <= clock.now()) await mustCommit(placement, { kind: 'release_claim', consumerUuid, claimToken });
    }
    for (const host of HOSTS) await this.world.report(host, { inventories: { VCPU: inventory(VCPUS) } });
  }
}

function wrongIn(selected: readonly string[], couldTake: readonly string[]): readonly string[] {
  if (selected.length === 0) return couldTake.map((host) => `refused, though ${host} could take it`);
  return selected.filter((host) => !couldTake.includes(host)).map((host) => `selected ${host}, which can not take it`);
}

it('keeps each unit, and refuses nothing that fits beside all of them', async () => {
  await assert(
    asyncProperty(array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      const world = aWorld();
      for (const host of HOSTS) await world.report(host, { inventories: { VCPU: inventory(VCPUS) } });
      const run = new Run(world, await world.scheduler({ backfillMarginMs: 0 }));
      try {
        for (const one of steps) {
          await run.take(one);
          expect(run.wrong).toEqual([]);
          const now = await run.definition();
          for (const host of HOSTS) expect(now.leftOn(host)).toBeGreaterThanOrEqual(0);
        }
      } finally {
        await world.close();
      }
    }),
    { numRuns: 150 },
  );
});
