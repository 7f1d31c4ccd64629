import { createHmac } from 'node:crypto';
import type { FlightEntry } from '../scheduler/flight/entries';

/** Fields whose values are names that people gave. */
const NAMES = new Set(['name', 'host', 'sourceHost', 'projectId', 'userId', 'groupId', 'cohort', 'flavor', 'cell']);
/** Fields that list such names. */
const LISTS = new Set(['forceHosts', 'ignoreHosts']);
/** In the metadata of aggregates: what a name stands for stays, whose name it is does not. */
const METADATA = 'metadata';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Fields with words of Berth's own. */
const WORDS = new Set(['kind', 'type', 'consumerType', 'policy', 'groupPolicy', 'rebuildPolicy', 'alternatesHeld']);
/** Values of metadata that name nothing. */
const STANDS = /^(|true|false|[\d.]+)$/;

/**
 * Replaces names of hosts, projects, users, groups and aggregates, and all uuids, by others, the same for the same. Amounts, classes,
 * traits, filters and settings stay, so that decisions come out as before. It takes all entries first, since a name is replaced
 * wherever it stands alone or joined to others.
 *
 * @param key  without which nobody can say which name stood there
 */
export function anonymizer(entries: Iterable<FlightEntry>, key: Buffer): (entry: FlightEntry) => FlightEntry {
  const names = new Set<string>();
  for (const entry of entries) if (entry.kind !== 'segment') collect(entry, names);
  const replaced = new Map([...names].map((name) => [name, pseudonym(name, key)]));
  const inText = (text: string) =>
    replaced.get(text) ?? (UUID.test(text) ? uuidOf(text, key) : joined(text, replaced, key));
  return (entry) => {
    if (entry.kind !== 'segment') return mapped(entry, inText) as FlightEntry;
    const { config } = entry;
    const declaredFilters = config.declaredFilters.map(inText);
    const declaredWeighers = config.declaredWeighers.map(inText);
    return { ...entry, config: { ...config, reportGrants: [], declaredFilters, declaredWeighers } };
  };
}

function collect(value: unknown, names: Set<string>, field = ''): void {
  if (typeof value === 'string') {
    if (NAMES.has(field) && !STANDS.test(value) && !UUID.test(value)) names.add(value);
  } else if (Array.isArray(value)) {
    for (const item of value) collect(item, names, LISTS.has(field) ? 'host' : field);
  } else if (value instanceof Map || value instanceof Set) {
    for (const item of value.values()) collect(item, names);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) collect(item, names, field === METADATA ? 'name' : key);
  }
}

function mapped(value: unknown, inText: (text: string) => string): unknown {
  if (typeof value === 'string') return inText(value);
  if (Array.isArray(value)) return value.map((item) => mapped(item, inText));
  if (value instanceof Map)
    return new Map([...value].map(([key, item]) => [mapped(key, inText), mapped(item, inText)]));
  if (value instanceof Set) return new Set([...value].map((item) => mapped(item, inText)));
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      UUID.test(key) ? inText(key) : key,
      WORDS.has(key) ? item : mapped(item, inText),
    ]),
  );
}

/** A text of several names, such as the key of a group or a sentence: each part that is a name or a uuid is replaced. */
function joined(text: string, replaced: ReadonlyMap<string, string>, key: Buffer): string {
  if (!/[^\w.-]/.test(text)) return text;
  return text
    .split(/([^\w.-]+)/)
    .map((part) => replaced.get(part) ?? (UUID.test(part) ? uuidOf(part, key) : part))
    .join('');
}

function pseudonym(name: string, key: Buffer): string {
  return `n-${digits(name, key).slice(0, 10)}`;
}

function uuidOf(uuid: string, key: Buffer): string {
  const hex = digits(uuid, key);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function digits(text: string, key: Buffer): string {
  return createHmac('sha256', key).update(text).digest('hex');
}
