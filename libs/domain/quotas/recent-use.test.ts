import * as fc from 'fast-check';
import { type RecentUse, recentUseAt, type UseLedger } from './recent-use';
import { DAY_MS } from './utc-day';

const HOUR_MS = 3_600_000;
/** Noon of a day. */
const NOON_MS = 20_000.5 * DAY_MS;

/** A project that holds VCPUs, with its ledger as the store keeps it. */
class Holder {
  #days: Record<string, Record<string, number>> = {};
  #used = 0;
  #atMs = NOON_MS;

  hold(VCPU: number, atMs: number): this {
    for (let fromMs = this.#atMs; fromMs < atMs; ) {
      const day = Math.floor(fromMs / DAY_MS);
      const toMs = Math.min(atMs, (day + 1) * DAY_MS);
      const sum = (this.#days[day]?.['VCPU'] ?? 0) + this.#used * (toMs - fromMs);
      if (sum > 0) this.#days[day] = { VCPU: sum };
      fromMs = toMs;
    }
    [this.#used, this.#atMs] = [VCPU, atMs];
    return this;
  }

  ledger(): UseLedger {
    const used = this.#used > 0 ? { VCPU: this.#used } : {};
    return { projectId: 'a', used, atMs: this.#atMs, days: structuredClone(this.#days) };
  }
}

const vcpus = (recent: RecentUse) => recent.averages['VCPU'] ?? 0;

it('halves in a half-life what is not held any more, and comes half way to what is held', () => {
  const asked = { nowMs: NOON_MS, halfLifeMs: HOUR_MS };
  const start = recentUseAt(undefined, new Holder().hold(8, NOON_MS).ledger(), asked);
  expect(vcpus(start)).toBe(0);
  const holder = new Holder().hold(8, NOON_MS);
  const after = recentUseAt(start, holder.ledger(), { ...asked, nowMs: NOON_MS + HOUR_MS });
  expect(vcpus(after)).toBeCloseTo(4, 9);
  const gone = holder.hold(0, NOON_MS + HOUR_MS).ledger();
  const later = recentUseAt(after, gone, { ...asked, nowMs: NOON_MS + 2 * HOUR_MS });
  expect(vcpus(later)).toBeCloseTo(2, 9);
  const muchLater = recentUseAt(later, gone, { ...asked, nowMs: NOON_MS + 100 * HOUR_MS });
  expect(muchLater.averages).toEqual({});
});

it('counts what was taken and given back between two samples', () => {
  const holder = new Holder();
  const start = recentUseAt(undefined, holder.ledger(), { nowMs: NOON_MS, halfLifeMs: HOUR_MS });
  holder.hold(100, NOON_MS + 1_000).hold(0, NOON_MS + 37_000);
  const sample = recentUseAt(start, holder.ledger(), { nowMs: NOON_MS + 60_000, halfLifeMs: HOUR_MS });
  const expected = 100 * (36_000 / HOUR_MS) * Math.LN2;
  expect(Math.abs(vcpus(sample) / expected - 1)).toBeLessThan(0.02);
});

it('knows of the days in the history what was held before the first sample', () => {
  const holder = new Holder().hold(10, NOON_MS).hold(0, NOON_MS + 10 * DAY_MS);
  const at = (nowMs: number) => recentUseAt(undefined, holder.ledger(), { nowMs, halfLifeMs: 5 * DAY_MS });
  expect(vcpus(at(NOON_MS + 10 * DAY_MS))).toBeCloseTo(7.5, 1);
  expect(vcpus(at(NOON_MS + 15 * DAY_MS))).toBeCloseTo(3.75, 1);
});

it('says when a project got something: not by settling, nor by a release', () => {
  const asked = { nowMs: NOON_MS + 1_000, halfLifeMs: HOUR_MS };
  const holder = new Holder().hold(4, NOON_MS);
  const first = recentUseAt(undefined, holder.ledger(), asked);
  expect(first.gainedAtMs).toBe(NOON_MS);
  const released = recentUseAt(first, holder.hold(3, NOON_MS + 2_000).ledger(), { ...asked, nowMs: NOON_MS + 3_000 });
  expect(released.gainedAtMs).toBe(NOON_MS);
  const settled = { ...holder.ledger(), atMs: NOON_MS + DAY_MS };
  expect(recentUseAt(released, settled, { ...asked, nowMs: NOON_MS + DAY_MS }).gainedAtMs).toBe(NOON_MS);
  const exchanged = { ...holder.ledger(), atMs: NOON_MS + 4_000 };
  expect(recentUseAt(released, exchanged, { ...asked, nowMs: NOON_MS + 5_000 }).gainedAtMs).toBe(NOON_MS + 4_000);
});

/** Times and amounts of a few days. */
const someChanges = fc
  .array(fc.tuple(fc.nat(3 * DAY_MS), fc.nat(100)), { minLength: 1, maxLength: 12 })
  .map((all) => all.sort(([a], [b]) => a - b).map(([afterMs, amount]) => [NOON_MS + afterMs, amount] as const));

it('is the exponential average, however often samples are taken, as far as they are apart', () => {
  const halfLifeMs = 2 * DAY_MS;
  fc.assert(
    fc.property(someChanges, fc.integer({ min: 1, max: 12 }), (changes, sampleHours) => {
      const endMs = NOON_MS + 4 * DAY_MS;
      const holder = new Holder();
      let recent: RecentUse | undefined = recentUseAt(undefined, holder.ledger(), { nowMs: NOON_MS, halfLifeMs });
      let exact = 0;
      let [held, atMs] = [0, NOON_MS];
      const left = [...changes];
      for (let nowMs = NOON_MS; nowMs <= endMs; nowMs += sampleHours * HOUR_MS) {
        while (left[0] && left[0][0] <= nowMs) {
          const [changedMs, amount] = left.shift() as readonly [number, number];
          holder.hold(amount, changedMs);
          exact = held + (exact - held) * 2 ** (-(changedMs - atMs) / halfLifeMs);
          [held, atMs] = [amount, changedMs];
        }
        recent = recentUseAt(recent, holder.ledger(), { nowMs, halfLifeMs });
        const now = held + (exact - held) * 2 ** (-(nowMs - atMs) / halfLifeMs);
        // Each unit is aged by at most half an interval too much or too little.
        const tolerance = 100 * (2 ** ((sampleHours * HOUR_MS) / halfLifeMs) - 1) + 1e-3;
        expect(Math.abs(vcpus(recent) - now)).toBeLessThan(tolerance);
      }
    }),
    { numRuns: 60 },
  );
});

it('is never negative, and never more than was held, wherever clocks are set', () => {
  const times = fc.array(fc.integer({ min: -40 * DAY_MS, max: 40 * DAY_MS }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(someChanges, times, fc.integer({ min: 1_000, max: 30 * DAY_MS }), (changes, offsets, halfLifeMs) => {
      const holder = new Holder();
      for (const [atMs, amount] of changes) holder.hold(amount, atMs);
      let recent: RecentUse | undefined;
      for (const offsetMs of offsets) {
        recent = recentUseAt(recent, holder.ledger(), { nowMs: NOON_MS + offsetMs, halfLifeMs });
        for (const average of Object.values(recent.averages)) {
          expect(average).toBeGreaterThanOrEqual(0);
          expect(average).toBeLessThan(100.001);
        }
      }
    }),
  );
});

it('counts what is held where a clock ahead has stamped the ledger', () => {
  const holder = new Holder().hold(8, NOON_MS);
  const first = recentUseAt(undefined, holder.ledger(), { nowMs: NOON_MS, halfLifeMs: HOUR_MS });
  const ahead = holder.hold(4, NOON_MS + 10 * HOUR_MS).ledger();
  const next = recentUseAt(first, ahead, { nowMs: NOON_MS + HOUR_MS, halfLifeMs: HOUR_MS });
  expect(vcpus(next)).toBeCloseTo(2, 9);
});

it('ages nothing by a clock that is behind, and goes on from one that was set back', () => {
  const holder = new Holder().hold(8, NOON_MS);
  const asked = { nowMs: NOON_MS + HOUR_MS, halfLifeMs: HOUR_MS };
  const first = recentUseAt(undefined, holder.ledger(), asked);
  expect(recentUseAt(first, holder.ledger(), { ...asked, nowMs: asked.nowMs - 1_000 })).toEqual(first);
  const backMs = NOON_MS - 3 * DAY_MS;
  const back = recentUseAt(first, holder.ledger(), { ...asked, nowMs: backMs });
  expect(back).toMatchObject({ atMs: backMs, averages: first.averages });
});
