import type { Host } from '../../domain/host';
import type { Provider } from '../../domain/provider';
import { getOrMake, lru } from '../../runtime/lru';
import type { Revised } from '../port/placement-store';

/*
 * Most hosts of a fleet have the same traits, inventories and capabilities as many others: a mirror keeps equal ones once. Rows
 * are immutable.
 */

/** Parts of rows by their JSON. */
const parts = lru<string, object>(1_000);
/** Longer ones are not kept: clients choose them. */
const MAX_TEXT_LENGTH = 4_096;

/** A provider whose parts are those of others that have the same. */
export function sharedProvider(row: Revised<Provider>): Revised<Provider> {
  const { traits, aggregates, inventories, device } = row;
  const own = { traits: shared(traits), aggregates: shared(aggregates), inventories: shared(inventories) };
  return device === undefined ? { ...row, ...own } : { ...row, ...own, device: shared(device) };
}

/** Likewise a host. */
export function sharedHost(row: Revised<Host>): Revised<Host> {
  return { ...row, aggregates: shared(row.aggregates), capabilities: shared(row.capabilities) };
}

function shared<T extends object | undefined>(part: T): T {
  // A row of an older version may lack it.
  if (part === undefined) return part;
  const text = JSON.stringify(part);
  return text.length > MAX_TEXT_LENGTH ? part : (getOrMake(parts, text, () => part) as T);
}
