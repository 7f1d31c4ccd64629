import { join } from 'node:path';
import type { Flavor } from '../../domain/flavor';
import type { RedisClient } from '../../redis/connect';
import { loadScripts } from '../../redis/scripts';
import { type FlavorStore, MAX_FLAVORS } from '../flavor-store';

const scripts = loadScripts(join(__dirname, 'lua'), ['flavor-write', 'flavor-delete']);

/** The flavors of a cell in Redis: one hash, and the highest version that any of them has had. */
export function redisFlavorStore(client: RedisClient, cell: string, maxFlavors = MAX_FLAVORS): FlavorStore {
  const flavors = `{${cell}}:flavors`;
  return {
    async getFlavor(name) {
      const record = await client.run((redis) => redis.hget(flavors, name));
      return record === null ? undefined : fromRecord(record);
    },
    async listFlavors() {
      const records = await client.run((redis) => redis.hvals(flavors));
      return records.map(fromRecord).sort((a, b) => (a.name < b.name ? -1 : 1));
    },
    async writeFlavor(flavor, over) {
      const args = [flavor.name, over ?? '', JSON.stringify(flavor), maxFlavors];
      const answer = await client.runScript(scripts['flavor-write'], [flavors, `${flavors}:version`], args);
      const [outcome, detail] = answer as [string, string];
      switch (outcome) {
        case 'written':
          return { kind: 'written', flavor: { ...flavor, version: Number(detail) } };
        case 'other':
          return { kind: 'other', flavor: fromRecord(detail) };
        case 'full':
          return { kind: 'full' };
        default:
          return { kind: 'other', flavor: undefined };
      }
    },
    async deleteFlavor(name) {
      const record = (await client.runScript(scripts['flavor-delete'], [flavors], [name])) as string | null;
      return record === null ? undefined : fromRecord(record);
    },
  };
}

/** A record is the version, a space, and the rest as JSON. */
function fromRecord(record: string): Flavor {
  const at = record.indexOf(' ');
  const content = JSON.parse(record.slice(at + 1)) as Omit<Flavor, 'version'>;
  return { ...content, version: Number(record.slice(0, at)) };
}
