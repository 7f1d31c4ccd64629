import type { SpecFields } from '#libs/client/client';
import { systemClock, systemRandom } from '#libs/runtime/system';
import {
  decodeSnapshot,
  encodeSnapshot,
  type FleetSnapshot,
  type KillKind,
  type Operation,
  type Outcome,
  rehearse,
  summarize,
} from '../../rehearsal/main';
import { SCENARIO_SETTINGS } from '../demo/scenarios/stage';
import { type EmbeddedFleet, type FleetSettings, startEmbedded } from '../embedded/fleet';

/* Tests rehearse an operation on a fleet in this process, then do it there. */

export const clock = systemClock();
export const LIMIT = { timeoutMs: 60_000 };
export const SPEC: SpecFields = { projectId: 'project-1', userId: 'u', resources: { VCPU: 1 } };
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** Length of a build: slow enough that the rest counts for little. */
const LATENCY_MS = 800;

/** Six hosts of 16 VCPU, each with an agent of its own. */
export function startFleet(fields: Partial<FleetSettings> = {}): Promise<EmbeddedFleet> {
  const context = { env: SCENARIO_SETTINGS, clock, random: systemRandom, interrupted: new AbortController().signal };
  const size = { schedulers: 1, conductors: 2, hosts: 6, shape: { VCPU: 16 }, hasOwnAgents: true };
  return startEmbedded(context, { ...size, failureRate: 0, latencyMs: LATENCY_MS, ...fields });
}

/** Builds instances; resolves to their uuids once they have settled. */
export async function build({ client }: EmbeddedFleet, count: number, spec: Partial<SpecFields> = {}) {
  const events = await client.buildAndWait({ spec: { ...SPEC, ...spec }, count }, LIMIT);
  return events.map(({ instanceUuid }) => instanceUuid);
}

interface Rehearsing {
  readonly kills?: readonly KillKind[];
  readonly seeds?: readonly number[];
  readonly buildMs?: number;
  readonly snapshot?: FleetSnapshot;
}

/** Outcomes of an operation on the fleet as it is, and their summary. */
export async function rehearsals(fleet: EmbeddedFleet, operation: Operation, rehearsing: Rehearsing = {}) {
  const { kills = [], seeds = SEEDS, buildMs = LATENCY_MS, snapshot = await fleet.snapshot() } = rehearsing;
  const work = {
    // As from a file.
    snapshot: decodeSnapshot(encodeSnapshot(snapshot)),
    fork: { settings: SCENARIO_SETTINGS, buildMs },
    options: { operation, kills, limitMs: 3_600_000 },
  };
  const outcomes: Outcome[] = [];
  for await (const outcome of rehearse(work, seeds, 1)) outcomes.push(outcome);
  // The next begins as the first did.
  expect(encodeSnapshot(work.snapshot)).toBe(encodeSnapshot(snapshot));
  return { outcomes, ...summarize(outcomes) };
}
