import { randomUUID } from 'node:crypto';
import { inventory } from '#libs/domain/inventory';
import { percentile } from '#libs/runtime/percentiles';
import { gate } from '#libs/testing/bus/inbox';
import { aRequestSpec } from '#libs/testing/instances/request-spec';
import { contentsOf, mustCommit } from '#libs/testing/placement/placement';
import { consumerBody } from '../../../services/placement-api/testing/state';
import { TestCell } from '../test-cell';

/*
 * Many claimants compete for ten places at once, half of them through two placement APIs, half through two schedulers. The real
 * Placement gives out up to twelve, and stalls for a second on a deadlock of its database.
 */

const ROOM = 10;
const ROUNDS = 100;
const SPEC = aRequestSpec({ resources: { VCPU: 1 } });
/** Limit of a claim's wait, in medians. */
const MOST_MEDIANS = 20;
/**
 * The processors are shared with five services, two servers and everything else: a pause of this length is nobody's
 * fault, and a longer one, which delays every claim in progress, may occur in two rounds of a hundred. A stall like the
 * real Placement's is still detected: it occurs in every other round.
 */
const PAUSE_MS = 500;
const MOST_PAUSES = 2;

interface Claim {
  readonly uuid: string;
  readonly by: 'api' | 'scheduler';
  /** Undefined when it was accepted. */
  readonly refusal: string | undefined;
  readonly tookMs: number;
}

let cell: TestCell;
let provider: string;
beforeAll(async () => {
  cell = await TestCell.start();
  provider = await cell.reportHost('host-1', { VCPU: inventory(ROOM) });
  // The first claims of a process wait for its code to load.
  const warmingUp = await oneRound(16, { lead: false });
  await release(warmingUp.map(({ uuid }) => uuid));
});
afterAll(() => cell.stop());

it.each([2, 4, 16, 64])('gives ten places to ten of %i claimants, in each of a hundred rounds', async (claimants) => {
  const rounds: Claim[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const made = await oneRound(claimants, { lead: round % 2 === 1 });
    const accepted = made.filter(({ refusal }) => refusal === undefined).map(({ uuid }) => uuid);
    expect(accepted).toHaveLength(ROOM);
    expect(await holders()).toEqual(accepted.sort());
    rounds.push(made);
    await release(accepted);
  }
  const claims = rounds.flat();
  expect(new Set(claims.map(({ refusal }) => refusal))).toEqual(new Set([undefined, 'capacity']));
  // Otherwise one of the two ways did not take part in the race.
  for (const way of ['api', 'scheduler']) {
    const won = claims.filter(({ by, refusal }) => by === way && refusal === undefined);
    expect(won.length).toBeGreaterThan(ROUNDS / 4);
  }
  const medianMs = percentile(tookMsOf(claims), 50);
  const limitMs = Math.max(MOST_MEDIANS * medianMs, PAUSE_MS);
  const longestMs = rounds.map((made) => Math.max(...tookMsOf(made))).sort((a, b) => b - a);
  const report = `median ${medianMs} ms, the longest of each round ${longestMs.slice(0, 5).join()} ms, ...`;
  expect({ report, isLate: (longestMs[MOST_PAUSES] ?? 0) > limitMs }).toEqual({ report, isLate: false });
});

function tookMsOf(claims: readonly Claim[]): number[] {
  return claims.map(({ tookMs }) => tookMs);
}

/**
 * Each claimant retries, so that claims by the APIs alone would fill the host: a scheduler that has not yet seen the
 * last round's release may refuse. The way through an API is shorter, and may win each race: in rounds with a lead the
 * APIs' claimants begin when a scheduler's has won a place.
 */
async function oneRound(claimants: number, { lead }: { lead: boolean }): Promise<Claim[]> {
  const tries = Math.ceil((2 * ROOM) / claimants);
  const made: Claim[] = [];
  const led = gate();
  const claimant = async (by: Claim['by'], n: number) => {
    for (let tried = 0; tried < tries; tried++) {
      const uuid = randomUUID();
      const startedMs = performance.now();
      const refusal = await (by === 'api' ? throughApi(uuid, n) : throughScheduler(uuid));
      made.push({ uuid, by, refusal, tookMs: performance.now() - startedMs });
      if (by === 'scheduler' && refusal === undefined) led.open();
    }
  };
  const half = Array.from({ length: claimants / 2 }, (_, n) => n);
  const throughSchedulers = Promise.all(half.map((n) => claimant('scheduler', n)));
  if (lead) await Promise.race([led.opened, throughSchedulers]);
  await Promise.all([...half.map((n) => claimant('api', n)), throughSchedulers]);
  return made;
}

async function throughApi(uuid: string, n: number): Promise<string | undefined> {
  const { status, text } = await cell.api(n).put(`/allocations/${uuid}`, consumerBody({ [provider]: { VCPU: 1 } }));
  if (status === 204) return undefined;
  return status === 409 && text.includes('would exceed the capacity') ? 'capacity' : `${status} ${text}`;
}

async function throughScheduler(uuid: string): Promise<string | undefined> {
  const { destinations, noValidHost } = await cell.select(uuid, SPEC);
  if (destinations.length > 0) return undefined;
  const reasons = noValidHost?.filters.flatMap((filter) => Object.keys(filter.reasons)) ?? [];
  return reasons.join() === 'capacity_vcpu' ? 'capacity' : JSON.stringify(noValidHost);
}

async function holders(): Promise<string[]> {
  const { consumers, usages } = await contentsOf(cell.store);
  expect(usages.map(({ used }) => used)).toEqual([{ VCPU: consumers.length }]);
  return consumers.map(({ uuid }) => uuid);
}

/** Releases each under its owner: the store refuses others. */
async function release(uuids: readonly string[]): Promise<void> {
  const held = await cell.store.consumers(uuids);
  const consumers = held.map((one) => ({ ...one, allocations: {}, mappings: {}, expect: { kind: 'any' } as const }));
  await mustCommit(cell.store, { kind: 'write_allocations', consumers });
}
