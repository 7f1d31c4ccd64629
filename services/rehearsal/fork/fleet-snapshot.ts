import { BerthError } from '#libs/domain/errors';
import type { Flavor } from '#libs/domain/flavor';
import type { Instance } from '#libs/domain/instance';
import type { FlavorStore } from '#libs/instances/flavor-store';
import type { InstanceStore } from '#libs/instances/store';
import type { PlacementStore, StoreImage } from '#libs/placement/port/placement-store';

/** A fleet at one time: what its stores keep. Plain data but for the bytes of records. */
export interface FleetSnapshot {
  readonly cell: string;
  /** By the store's clock. */
  readonly takenAtMs: number;
  readonly placement: StoreImage;
  readonly instances: readonly Instance[];
  readonly flavors: readonly Flavor[];
}

/** The methods that a snapshot reads by; none writes. */
export interface ReadStores {
  readonly placement: Pick<PlacementStore, 'image'>;
  readonly instances: Pick<InstanceStore, 'scan'>;
  readonly flavors: Pick<FlavorStore, 'listFlavors'>;
}

/**
 * Reads a fleet. Records are read first: what is placed meanwhile is a claim without a record, which an audit of the
 * rehearsal would release; such claims are left out.
 */
export async function takeSnapshot(
  { placement, instances, flavors }: ReadStores,
  cell: string,
  nowMs: () => number,
): Promise<FleetSnapshot> {
  const takenAtMs = nowMs();
  const records: Instance[] = [];
  await instances.scan(async (rows) => {
    records.push(...rows);
  });
  const image = await placement.image();
  return { cell, takenAtMs, placement: image, instances: records, flavors: await flavors.listFlavors() };
}

const FORMAT = 'berth-fleet-snapshot-1';

/** A snapshot as text, one JSON value. */
export function encodeSnapshot({ instances, ...snapshot }: FleetSnapshot): string {
  return JSON.stringify({ format: FORMAT, ...snapshot, instances: instances.map(withTexts) });
}

/** A record with its bytes as texts. */
function withTexts(record: Instance): unknown {
  const isBytes = (value: unknown) => value instanceof Uint8Array;
  const entries = Object.entries(record).map(([name, value]) => [name, isBytes(value) ? asText(value) : value]);
  return Object.fromEntries(entries);
}

function asText(bytes: Uint8Array): { readonly base64: string } {
  return { base64: Buffer.from(bytes).toString('base64') };
}

/** @throws BerthError `invalid_argument / bad_snapshot` for what `encodeSnapshot` did not make. */
export function decodeSnapshot(text: string): FleetSnapshot {
  let value: unknown;
  try {
    value = JSON.parse(text, (_, part: unknown) => asBytes(part));
  } catch (cause) {
    throw badSnapshot('it is not JSON', cause);
  }
  const { format, ...snapshot } = (value ?? {}) as { format?: unknown } & Partial<FleetSnapshot>;
  if (format !== FORMAT) throw badSnapshot(`it does not begin with "format":"${FORMAT}"`);
  const { cell, takenAtMs, placement, instances, flavors } = snapshot;
  const isWhole =
    typeof cell === 'string' &&
    typeof takenAtMs === 'number' &&
    typeof placement?.tables === 'object' &&
    Array.isArray(placement.counts) &&
    Array.isArray(placement.heartbeats) &&
    Array.isArray(instances) &&
    Array.isArray(flavors);
  if (!isWhole) throw badSnapshot('a part of it is missing');
  return snapshot as FleetSnapshot;
}

function asBytes(part: unknown): unknown {
  if (typeof part !== 'object' || part === null || !('base64' in part)) return part;
  return Object.keys(part).length === 1 && typeof part.base64 === 'string' ? Buffer.from(part.base64, 'base64') : part;
}

function badSnapshot(why: string, cause?: unknown): BerthError {
  const message = `this is no snapshot of a fleet: ${why}; make one with 'berth rehearse save FILE'`;
  return new BerthError('invalid_argument', 'bad_snapshot', message, { cause });
}
