import type { Client, SpecFields } from '#libs/client/client';
import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { mapConcurrently } from '#libs/runtime/concurrent';

/** Requests of tenants and ends of their instances, in order, as plain data. */
export type Traffic = readonly TrafficEvent[];

export type TrafficEvent =
  | {
      readonly kind: 'build';
      /** From the beginning. */
      readonly atMs: number;
      readonly spec: SpecFields;
      readonly instanceUuids: readonly string[];
      readonly minCount: number;
      readonly priority: number;
      readonly mayPreempt: boolean;
    }
  | { readonly kind: 'end'; readonly atMs: number; readonly instanceUuid: string };

/** Instances that the traffic asks for. */
export function askedIn(traffic: Traffic): ReadonlySet<string> {
  return new Set(traffic.flatMap((event) => (event.kind === 'build' ? event.instanceUuids : [])));
}

/** Tenants: a client with the rights of all, and a time. */
interface Tenants {
  readonly client: Pick<Client, 'build' | 'terminate'>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Requests under way at once. */
const PARALLEL = 64;

/** Does it, each at its time; resolves when all is asked for. What is refused shows in the records at the end. */
export async function play({ client, clock, signal }: Tenants, traffic: Traffic): Promise<void> {
  const startedMs = clock.elapsed();
  await mapConcurrently(traffic, PARALLEL, playOne, signal);

  async function playOne(event: TrafficEvent): Promise<void> {
    await sleep(clock, Math.max(0, startedMs + event.atMs - clock.elapsed()), signal);
    if (signal.aborted) return;
    try {
      if (event.kind === 'end') await client.terminate(event.instanceUuid);
      else {
        const { spec, instanceUuids, minCount, priority, mayPreempt } = event;
        const gang = minCount > 0 ? { minCount } : {};
        const admission = { priority, mayPreempt };
        await client.build({ spec, instanceUuids, count: instanceUuids.length, ...gang, admission });
      }
    } catch (thrown) {
      // A tenant's request may fail, as when what is to end never came to be; while processes die, too.
      if (BerthError.from(thrown).code === 'internal') throw thrown;
    }
  }
}
