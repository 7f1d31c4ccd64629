import type { Clock } from '../../domain/clock';
import type { Instance } from '../../domain/instance';
import { type OutboxPage, versionOf } from '../store';

/** Versions that are not published, by instance. */
export function memoryOutbox(clock: Pick<Clock, 'now'>) {
  const entries = new Map<string, { readonly sinceMs: number; readonly versions: readonly Instance[] }>();
  return {
    get size() {
      return entries.size;
    },

    has(uuid: string): boolean {
      return entries.has(uuid);
    },

    /** Answers with all that is there of the instance. */
    put(instance: Instance): readonly Instance[] {
      const { sinceMs, versions } = entries.get(instance.uuid) ?? { sinceMs: clock.now(), versions: [] };
      entries.set(instance.uuid, { sinceMs, versions: [...versions, versionOf(instance)] });
      return [...versions, instance];
    },

    /** Takes the versions of an instance up to this one. */
    take(uuid: string, version: number): void {
      const entry = entries.get(uuid);
      const versions = entry?.versions.filter((one) => one.version > version) ?? [];
      if (entry === undefined || versions.length === 0) entries.delete(uuid);
      else entries.set(uuid, { ...entry, versions });
    },

    read(minAgeMs: number, skip: number, limit: number): OutboxPage {
      const nowMs = clock.now();
      // In the order in which they came, which is by time.
      const all = [...entries.values()];
      const old = all.filter(({ sinceMs }) => sinceMs <= nowMs - minAgeMs);
      return {
        instanceCount: all.length,
        ageMs: nowMs - (all[0]?.sinceMs ?? nowMs),
        unpublished: old.slice(skip, skip + limit).map(({ versions }) => versions),
      };
    },
  };
}
