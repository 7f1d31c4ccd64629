import { natural } from '../api/natural-order';
import type { Found } from '../api/search';
import type { Live } from '../live/live';
import { novaDecision } from './nova-page';

const MOST = 12;
/** Candidates of each rank: what is not shown need not be sorted. */
const MOST_RANKED = 200;

/** Matches by how well they match: the whole name, its beginning, a part of it. */
class Ranked<T> {
  readonly #ranks: readonly T[][] = [[], [], []];

  constructor(private readonly wanted: string) {}

  /** Adds an item if one of its names matches. */
  offer(item: T, ...names: readonly string[]): void {
    const rank = Math.min(...names.map((name) => rankOf(name, this.wanted)));
    const list = this.#ranks[rank];
    if (list !== undefined && list.length < MOST_RANKED) list.push(item);
  }

  /** The best, each rank by name. */
  best(nameOf: (item: T) => string): { readonly item: T; readonly rank: number }[] {
    const byName = (a: T, b: T) => natural.compare(nameOf(a), nameOf(b));
    const all = this.#ranks.flatMap((items, rank) => items.sort(byName).map((item) => ({ item, rank })));
    return all.slice(0, MOST);
  }
}

function rankOf(name: string, wanted: string): number {
  if (name === wanted) return 0;
  return name.startsWith(wanted) ? 1 : name.includes(wanted) ? 2 : 3;
}

/**
 * Hosts, instances, projects and zones whose names match a text, and instances whose uuids begin with it: exact
 * matches first, then beginnings, then parts. A request of Nova is found by its whole id.
 */
export async function search(live: Live, text: string): Promise<readonly Found[]> {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [];
  const named = new Ranked<Found>(wanted);
  const zones = new Set<string>();
  for (const { name, zone } of live.fleet.rows.values()) {
    zones.add(zone);
    named.offer({ kind: 'host', id: name, label: name, note: zone }, name.toLowerCase());
  }
  for (const zone of zones) named.offer({ kind: 'zone', id: zone, label: zone, note: '' }, zone.toLowerCase());
  for (const id of live.parts.mirror.quotas.projects()) {
    if (id !== '') named.offer({ kind: 'project', id, label: id, note: '' }, id.toLowerCase());
  }
  const found = [
    ...named.best(({ label }) => label),
    ...(await instancesLike(live, wanted)),
    ...(await requestsOfNova(live, wanted)),
  ];
  return found
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MOST)
    .map(({ item }) => item);
}

/** The request of Nova with this id, or for the instance with this uuid. */
async function requestsOfNova(live: Live, wanted: string): Promise<{ item: Found; rank: number }[]> {
  const decision = await novaDecision(live, wanted).catch(() => undefined);
  if (decision === undefined) return [];
  const id = `req-${decision.requestId}`;
  return [{ item: { kind: 'request', id, label: id, note: 'Nova' }, rank: 0 }];
}

/** Instances by name or uuid, as the store has them now. */
async function instancesLike(live: Live, wanted: string): Promise<{ item: Found; rank: number }[]> {
  const ranked = new Ranked<string>(wanted);
  const names = live.names.all();
  for (const [uuid, name] of names) {
    // A part of a uuid means nothing.
    if (uuid.startsWith(wanted)) ranked.offer(uuid, uuid, name);
    else ranked.offer(uuid, name);
  }
  const best = ranked.best((uuid) => names.get(uuid) ?? uuid);
  const present = await live.parts.instances.get(best.map(({ item }) => item));
  return best.flatMap(({ item, rank }) => {
    const instance = present.find(({ uuid }) => uuid === item);
    if (instance === undefined) return [];
    const { name, state, host = '', uuid } = instance;
    const note = [state.toUpperCase(), host, uuid.slice(0, 8)].filter(Boolean).join(' · ');
    return [{ item: { kind: 'instance', id: uuid, label: name, note } as const, rank }];
  });
}
