import type { Random } from '#libs/domain/random';
import type { Traffic, TrafficEvent } from '../rehearsal/operations/traffic';
import type { CompleteSpec } from '../scheduler/decision/complete-request';
import type { DecideEntry, FlightEntry } from '../scheduler/flight/entries';
import { entriesOf, segmentsOf } from './records';

/**
 * Requests of tenants in the last part of a record, and the ends of instances. An instance counts when it is decided for
 * first, and gets another uuid; one that was there before ends under its own. Moves are an operator's, and are left out.
 *
 * @param durationMs  length of that part, up to the end of the record
 * @throws BerthError `invalid_argument / unreadable_folder`, `/ unreadable_file`
 */
export function trafficOf(folder: string, durationMs: number, random: Random): Traffic {
  const all: TrafficEvent[] = [];
  const seen = new Set<string>();
  let untilMs = 0;
  for (const segment of segmentsOf(folder)) {
    const specs = new Map<number, CompleteSpec>();
    let nowMs = segment.startedAtMs;
    for (const entry of entriesOf(segment)) {
      if (entry.kind === 'read') ({ nowMs } = entry);
      else if (entry.kind === 'decide') {
        ({ nowMs } = entry.attempt);
        if (entry.spec) specs.set(entry.specId, entry.spec);
        all.push(...asked(entry, specs.get(entry.specId), seen));
      }
      all.push(...ended(entry, nowMs, seen));
    }
    untilMs = Math.max(untilMs, nowMs);
  }
  return underOtherUuids(all, { sinceMs: untilMs - durationMs, random });
}

/** A request of instances that were not decided for before. */
function asked({ request, attempt }: DecideEntry, spec: CompleteSpec | undefined, seen: Set<string>): TrafficEvent[] {
  const { minCount = 0, priority = 0, mayPreempt = false, move } = request;
  const instanceUuids = request.instanceUuids.filter((uuid) => !seen.has(uuid));
  for (const uuid of instanceUuids) seen.add(uuid);
  if (move !== undefined || spec === undefined || instanceUuids.length === 0) return [];
  // A request spec has no other word for the nearness of devices than the extra spec, which is resolved.
  const { origins: _, deviceAffinity: __, ...fields } = spec;
  return [{ kind: 'build', atMs: attempt.nowMs, spec: fields, instanceUuids, minCount, priority, mayPreempt }];
}

function ended(entry: FlightEntry, atMs: number, seen: Set<string>): TrafficEvent[] {
  return deletedIn(entry).flatMap((instanceUuid) => {
    const key = `end of ${instanceUuid}`;
    if (seen.has(key)) return [];
    seen.add(key);
    return [{ kind: 'end', atMs, instanceUuid } as const];
  });
}

function deletedIn(entry: FlightEntry): readonly string[] {
  if (entry.kind === 'stream') return entry.changes.flatMap(({ deletedConsumers = [] }) => deletedConsumers);
  return entry.kind === 'applied' ? (entry.change.deletedConsumers ?? []) : [];
}

/** Events from a time on, from which they count. */
function underOtherUuids(
  all: readonly TrafficEvent[],
  { sinceMs, random }: { readonly sinceMs: number; readonly random: Random },
): Traffic {
  const others = new Map<string, string>();
  const other = (uuid: string) => {
    others.set(uuid, random.uuid());
    return others.get(uuid) as string;
  };
  return all
    .filter(({ atMs }) => atMs >= sinceMs)
    .toSorted((a, b) => a.atMs - b.atMs)
    .map((event) => {
      const atMs = event.atMs - sinceMs;
      if (event.kind === 'build') return { ...event, atMs, instanceUuids: event.instanceUuids.map(other) };
      return { ...event, atMs, instanceUuid: others.get(event.instanceUuid) ?? event.instanceUuid };
    });
}
