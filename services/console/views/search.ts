import type { Found } from '../api/search';
import type { Live } from '../live/live';

const MOST = 12;
const UUID_START = /^[0-9a-f]{4,8}(-[0-9a-f-]*)?$/;
/** Completes the beginning of a uuid, so that `list` reads from there. */
const PADDING = '00000000-0000-0000-0000-000000000000';

/** Hosts whose name contains a text, and instances whose uuid begins with it or whose recent name matches. */
export async function search(live: Live, text: string): Promise<readonly Found[]> {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return [];
  const hosts: Found[] = [];
  for (const name of live.fleet.rows.keys()) {
    if (name.toLowerCase().includes(wanted)) hosts.push({ kind: 'host', id: name, label: name });
    if (hosts.length === MOST) break;
  }
  const named = live.builds.recent().filter(({ name }) => name.toLowerCase().includes(wanted));
  const byUuid = UUID_START.test(wanted) ? await instancesFrom(live, wanted) : [];
  const instances = [...byUuid, ...named].map(({ uuid, name }): Found => {
    return { kind: 'instance', id: uuid, label: `${name} ${uuid}` };
  });
  // Exact matches come first.
  hosts.sort((a, b) => Number(b.id === wanted) - Number(a.id === wanted));
  return [...hosts, ...instances].slice(0, MOST);
}

async function instancesFrom({ parts }: Live, start: string): Promise<{ uuid: string; name: string }[]> {
  const before = start + PADDING.slice(start.length);
  const [exact, after] = await Promise.all([parts.instances.get([before]), parts.instances.list({}, before, MOST)]);
  return [...exact, ...after].filter(({ uuid }) => uuid.startsWith(start));
}
