import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Allocations } from '#libs/domain/consumer';
import { Mirror } from '#libs/placement/mirror/mirror';
import { openPlacementStore } from '#libs/placement/open';
import { placementOptions } from '#libs/placement/options';
import type { PlacementStore } from '#libs/placement/port/placement-store';
import { readConfig } from '#libs/runtime/config';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { Fleet } from '../../../services/scheduler/fleet/fleet';
import { fillFlat } from '../placement-fleet';

/** A question to one of the bench's processes; each is answered with the processor time used so far. */
export type Question =
  | { readonly kind: 'cpu' }
  | { readonly kind: 'claim'; readonly perSecond: number; readonly seconds: number }
  | { readonly kind: 'catch_up'; readonly revision: number };

export interface Answer {
  readonly cpuUs: number;
  /** Claims made by a process that claims, and the store's revision after them. */
  readonly claims?: number;
  readonly revision?: number;
}

/** Interval at which a follower reads the hosts that changed, as a scheduler does that decides as often. */
const SNAPSHOT_INTERVAL_MS = 10;
const FLEET = {
  failureHalfLifeMs: 600_000,
  claimSettleMs: 30_000,
  quarantineFailures: 0,
  quarantineProjects: 0,
  quarantineMaxPercent: 0,
  quarantinePauseMs: 1_000,
  quarantineMaxPauseMs: 1_000,
};
const clock = systemClock();

/** Writes claims on a fleet that it fills, as a scheduler writes them: decided on a mirror, those of a tick in one commit. */
async function claimer(store: PlacementStore, hosts: number) {
  await Mirror.open(store, around());
  const { claims } = await fillFlat(store, hosts);
  let made = 0;
  return async (question: Question): Promise<Omit<Answer, 'cpuUs'>> => {
    if (question.kind !== 'claim') return { revision: await store.revision() };
    const before = made;
    const startedMs = performance.now();
    const writing: Promise<unknown>[] = [];
    for (let ms = 0; ms < question.seconds * 1_000; ms = performance.now() - startedMs) {
      for (const owed = before + (ms / 1_000) * question.perSecond; made < owed; made++) {
        writing.push(claim(store, claims[made % claims.length] as Allocations));
      }
      await sleep(1);
    }
    await Promise.all(writing);
    return { claims: made - before, revision: await store.revision() };
  };
}

async function claim(store: PlacementStore, allocations: Allocations): Promise<void> {
  const who = { projectId: 'bench', userId: 'bench', consumerType: 'INSTANCE', owner: 'conductor' } as const;
  const consumer = { uuid: randomUUID(), ...who, allocations, mappings: {}, expect: { kind: 'absent' } as const };
  const result = await store.commit({ kind: 'write_allocations', atMs: clock.now(), consumers: [consumer] });
  if (result.kind !== 'committed') throw new Error(`a claim was refused: ${result.kind}`);
}

/** Only mirrors, as a scheduler of which nobody asks anything, and reads the hosts that changed. */
async function follower(store: PlacementStore) {
  const mirror = await Mirror.open(store, around());
  const fleet = new Fleet(mirror, FLEET);
  setInterval(() => fleet.snapshot(clock.now()), SNAPSHOT_INTERVAL_MS);
  return async (question: Question): Promise<Omit<Answer, 'cpuUs'>> => {
    if (question.kind === 'catch_up') await mirror.waitFor(question.revision, { timeoutMs: 30_000 });
    return {};
  };
}

function around() {
  return { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
}

async function main([role, storeUrl = '', hosts]: readonly string[]): Promise<void> {
  const store = await openPlacementStore(readConfig(placementOptions, { BERTH_STORE_URL: storeUrl }), around());
  const answer = role === 'claimer' ? await claimer(store, Number(hosts)) : await follower(store);
  process.on('message', (question: Question) => {
    void answer(question).then((rest) => {
      const { user, system } = process.cpuUsage();
      process.send?.({ cpuUs: user + system, ...rest } satisfies Answer);
    });
  });
  // By exit, so that a requested profile is written.
  process.on('SIGTERM', () => process.exit(0));
  process.send?.({ cpuUs: 0 } satisfies Answer);
}

if (require.main === module) void main(process.argv.slice(2));
