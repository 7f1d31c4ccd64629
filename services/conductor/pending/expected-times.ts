import { requestSpecCodec } from '#libs/contracts/request-spec';
import { BUILT_STATES, type Instance } from '#libs/domain/instance';
import type { Resources } from '#libs/domain/inventory';
import type { WaitingRequest } from './waiting-request';

/** Instances at the head of the queue that are given an expected time; the rest can't be foretold. */
const MOST = 200;

/**
 * When those who wait may have capacity, as far as it is scheduled: each, in order, by the next instance whose time limit ends
 * it and that holds as much as is asked. A guess that others may spoil, and an earlier release may better.
 *
 * @param ending  soonest first
 * @returns milliseconds by request id
 */
export function expectedTimes(
  waiting: readonly WaitingRequest[],
  ending: readonly Instance[],
): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  const left = ending
    .filter(({ state, endsAtMs }) => endsAtMs !== undefined && BUILT_STATES.includes(state))
    .map(({ endsAtMs = 0, requestSpec }) => ({ endsAtMs, resources: resourcesOf(requestSpec) }));
  for (const { requestId, requestSpec, uuids } of waiting.slice(0, MOST)) {
    if (left.length === 0) break;
    const asked = resourcesOf(requestSpec);
    // An instance's place for each of its own.
    for (let n = 0; n < uuids.length; n++) {
      const at = left.findIndex(({ resources }) => covers(resources, asked));
      const [taken] = at < 0 ? [] : left.splice(at, 1);
      if (taken) times.set(requestId, Math.max(taken.endsAtMs, times.get(requestId) ?? 0));
      else times.delete(requestId);
      if (!taken) break;
    }
  }
  return times;
}

function resourcesOf(requestSpec: Uint8Array): Resources {
  return requestSpecCodec.decode(requestSpec).resources;
}

function covers(has: Resources, asked: Resources): boolean {
  return Object.entries(asked).every(([name, amount]) => (has[name] ?? 0) >= amount);
}
