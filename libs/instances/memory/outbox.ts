import type { Clock } from '../../domain/clock';
import type { Instance } from '../../domain/instance';
import { type OutboxSize, versionOf } from '../store';

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

    /** Events of at least this age, oldest first. */
    read(minAgeMs: number): readonly (readonly Instance[])[] {
      const latestMs = clock.now() - minAgeMs;
      return [...entries.values()].filter(({ sinceMs }) => sinceMs <= latestMs).map(({ versions }) => versions);
    },

    measure(): OutboxSize {
      const nowMs = clock.now();
      const [oldest] = entries.values();
      return { instanceCount: entries.size, ageMs: nowMs - (oldest?.sinceMs ?? nowMs) };
    },
  };
}
