import type { Consumer } from '#libs/domain/consumer';
import { addResources, type Resources } from '#libs/domain/inventory';
import { countersOfMember } from '#libs/placement/commands/claims/group-counters';
import type { Tables } from '#libs/placement/commands/tables';
import type { ImageRow, StoreImage } from '#libs/placement/port/placement-store';
import { rowsOf } from './rows-of';

/**
 * An image as the store of a rehearsal begins with it. A live store is read table after table, so usages and the counters of
 * groups are made anew of the consumers. Each host is its own service host: then an agent runs one host, and only where
 * something happens. Nobody holds a host, and no report was the last: the agents of the rehearsal begin.
 */
export function squareUp(image: StoreImage): StoreImage {
  const consumers = [...rowsOf(image, 'consumer').values()];
  const used = usedBy(consumers);
  const ownServiceHost = ([key, revision, row]: ImageRow): ImageRow => [
    key,
    revision,
    { ...(row as Tables['host']), serviceHost: key },
  ];
  const counted = ([key, revision, row]: ImageRow): ImageRow => [
    key,
    revision,
    { ...(row as Tables['usage']), used: used.get(key) ?? {} },
  ];
  return {
    ...image,
    tables: {
      ...image.tables,
      host: (image.tables['host'] ?? []).map(ownServiceHost),
      usage: (image.tables['usage'] ?? []).map(counted),
      holder: [],
      sequence: [],
    },
    counts: [...image.counts.filter(([name]) => !MEMBERS.test(name)), ...membersCounted(consumers)],
  };
}

/** The counters that follow from consumers. */
const MEMBERS = /^(members|members-on|members-in|kept|kept-on|kept-in|passing-in) /;

function usedBy(consumers: readonly Consumer[]): ReadonlyMap<string, Resources> {
  const used = new Map<string, Resources>();
  for (const { allocations } of consumers) {
    for (const [uuid, resources] of Object.entries(allocations)) {
      used.set(uuid, addResources(used.get(uuid) ?? {}, resources));
    }
  }
  return used;
}

function membersCounted(consumers: readonly Consumer[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const consumer of consumers) {
    for (const name of countersOfMember(consumer)?.names ?? []) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts];
}
