import { hash, timingSafeEqual } from 'node:crypto';
import { berth } from '#generated/berth';
import {
  allocationsFromWire,
  allocationsToWire,
  type Mappings,
  mappingsFromWire,
  mappingsToWire,
  uuidBytes,
  uuidText,
} from '../../contracts/allocations';
import { exactlyWritten } from '../../contracts/exact-numbers';
import { serverGroup } from '../../contracts/placement';
import type { Allocations } from '../../domain/consumer';
import { type BerthError, invalidArgument } from '../../domain/errors';
import type { Resources } from '../../domain/inventory';
import type { ServerGroup } from '../../domain/server-group';

/** The content of a sealed allocation request: a claimant, and the place that it may claim. */
export interface AllocationRequest extends Claimant, ClaimablePlace, Sealing {}

/** When a request was sealed, so that it proves nothing of another time, whatever its carrier says. Not known of older ones. */
export interface Sealing {
  /** By the store's clock. */
  readonly sealedAtMs?: number;
  /** The store's revision, as its sealer knew it. */
  readonly storeRevision?: number;
}

/** The stamp that sealing adds: the time, and the expiry; never, when not given. */
export interface Stamp extends Sealing {
  readonly expiresAtMs?: number;
}

export interface Claimant {
  readonly consumerUuid: string;
  readonly projectId: string;
  readonly userId: string;
  readonly group: ServerGroup | undefined;
  /** The domains that members of a group that spreads may go to. */
  readonly spreadAmong?: readonly string[] | undefined;
  readonly priority?: number | undefined;
  readonly isProtected?: boolean | undefined;
  /** The flavor's name, when it has one. */
  readonly flavor?: string | undefined;
  /** The reservation that it is placed in, and the time by which it has ended. */
  readonly reservation?: string | undefined;
  readonly endsAtMs?: number | undefined;
}

export interface ClaimablePlace {
  readonly host: string;
  readonly allocations: Allocations;
  readonly mappings: Mappings;
  /** The host's domain, for a group that spreads. */
  readonly spreadDomain?: string | undefined;
  /** By class, what the host had in all: nobody can have been given more there. Not known of older ones. */
  readonly capacities?: Resources | undefined;
}

/** Seals, for one claimant, one place after another. */
export type Sealer = (claimant: Claimant) => (place: ClaimablePlace) => Uint8Array;

/** First byte of a sealed request. A new layout gets a new number, and the one before is opened for a release. */
const VERSION = 3;
const KEY_ID_BYTES = 4;
const EXPIRY_BYTES = 4;
/** The version, the id of the key, and the second in which it expires; 0 for never. */
const HEAD_BYTES = 1 + KEY_ID_BYTES + EXPIRY_BYTES;
const MAC_BYTES = 16;

const wire = berth.placement.v1.AllocationRequest;
const PATH = 'allocation_request';

/**
 * Makes the opaque bytes of a Selection, `version | key id | expiry | protobuf | MAC`, somewhat above a hundred of them for
 * three classes. Their carriers can claim with them but can't change them: the MAC is SHA3-256 of the fleet's claim key and
 * all before it, cut to 128 bits. (A sponge takes its key as a prefix, as in NIST's KMAC; older hashes need HMAC, which takes three times as
 * long.) `decisions/0003-sealed-allocation-requests.md` says why and what it costs.
 *
 * A protobuf message may be split between its fields: the claimant's are encoded once for the selected host and its
 * alternates, and a place's once for all claimants of the same allocations.
 *
 * @param claimKey  keys with commas between: the first seals
 * @param stamp     says when it is sealed, and when it expires
 */
export function sealer(claimKey: string, stamp: () => Stamp = () => ({})): Sealer {
  const [{ prefix, id }] = keysOf(claimKey);
  const from = prefix.length;
  return (claimant) => {
    const { expiresAtMs = 0, ...sealing } = stamp();
    const who = exactlyWritten(wire, { ...claimantToWire(claimant), ...sealing }, PATH).finish();
    const expiresAtS = Math.ceil(expiresAtMs / 1_000);
    return (place) => {
      const where = encodedPlace(place);
      const macAt = from + HEAD_BYTES + who.length + where.length;
      // One buffer for what is hashed and what is sent.
      const bytes = Buffer.allocUnsafe(macAt + MAC_BYTES);
      bytes.set(prefix);
      bytes[from] = VERSION;
      bytes.set(id, from + 1);
      bytes.writeUInt32BE(expiresAtS, from + 1 + KEY_ID_BYTES);
      bytes.set(who, from + HEAD_BYTES);
      bytes.set(where, macAt - where.length);
      bytes.write(macOf(bytes.subarray(0, macAt)), macAt, 'latin1');
      return bytes.subarray(from);
    };
  };
}

/**
 * Opens a sealed request, after checking its MAC, and its expiry where `nowMs` is given: as proof of what was once selected
 * it does not expire.
 *
 * @param claimKey  keys with commas between: any of them may have sealed it
 * @throws BerthError `invalid_argument / allocation_request_version` (sealed by another version of Berth),
 *   `/ allocation_request_forged` (changed on its way, or sealed under another key) or `/ allocation_request_expired`.
 */
export function open(sealed: Uint8Array, claimKey: string, nowMs?: number): AllocationRequest {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const macAt = bytes.length - MAC_BYTES;
  if (bytes[0] !== VERSION) throw ofAnotherVersion(bytes[0]);
  const isGenuine = ({ prefix }: Key) =>
    timingSafeEqual(
      Buffer.from(macOf(Buffer.concat([prefix, bytes.subarray(0, macAt)])), 'latin1'),
      bytes.subarray(macAt),
    );
  const isPossible = ({ id }: Key) => id.equals(bytes.subarray(1, 1 + KEY_ID_BYTES));
  if (macAt < HEAD_BYTES || !keysOf(claimKey).some((key) => isPossible(key) && isGenuine(key))) throw forged();
  const expiresAtS = bytes.readUInt32BE(1 + KEY_ID_BYTES);
  if (nowMs !== undefined && expiresAtS > 0 && nowMs > expiresAtS * 1_000) throw expired();
  return fromWire(wire.decode(bytes.subarray(HEAD_BYTES, macAt)));
}

interface Key {
  /** First bytes of a MAC's input. */
  readonly prefix: Uint8Array;
  /** Tells the key of a request without trying all; nothing of the key can be told from it. */
  readonly id: Buffer;
}

const knownKeys = new Map<string, readonly [Key, ...Key[]]>();

/** The keys of a fleet, the one that seals first. A process has one list. */
function keysOf(claimKey: string): readonly [Key, ...Key[]] {
  const known = knownKeys.get(claimKey);
  if (known !== undefined) return known;
  const [first = '', ...others] = claimKey.split(',');
  const keys: readonly [Key, ...Key[]] = [keyOf(first), ...others.map(keyOf)];
  knownKeys.set(claimKey, keys);
  return keys;
}

function keyOf(key: string): Key {
  const id = Buffer.from(hash('sha3-256', `id of ${key}`, 'hex').slice(0, 2 * KEY_ID_BYTES), 'hex');
  return { prefix: prefixOf(key), id };
}

function claimantToWire(claimant: Claimant): berth.placement.v1.IAllocationRequest {
  const {
    consumerUuid,
    projectId,
    userId,
    group,
    spreadAmong = [],
    priority = 0,
    isProtected = false,
    flavor,
    reservation,
    endsAtMs,
  } = claimant;
  return {
    consumerUuid: uuidBytes(consumerUuid),
    projectId,
    userId,
    group: group ? serverGroup.toWire(group) : null,
    spreadAmong: spreadAmong as string[],
    // Most say nothing, and seal nothing of it.
    ...(priority === 0 ? {} : { priority }),
    ...(isProtected ? { isProtected } : {}),
    ...(flavor ? { flavor } : {}),
    ...(reservation ? { reservation } : {}),
    ...(endsAtMs ? { endsAtMs } : {}),
  };
}

/** The last encoding of a place, by its allocations, which are immutable. */
const encodedPlaces = new WeakMap<Allocations, { readonly place: ClaimablePlace; readonly bytes: Uint8Array }>();

function encodedPlace(place: ClaimablePlace): Uint8Array {
  const { host, allocations, mappings, spreadDomain, capacities } = place;
  const last = encodedPlaces.get(allocations);
  const isSame = last?.place.host === host && last.place.mappings === mappings && last.place.capacities === capacities;
  if (isSame && last.place.spreadDomain === spreadDomain) return last.bytes;
  const bytes = exactlyWritten(wire, placeToWire(place), PATH).finish();
  encodedPlaces.set(allocations, { place, bytes });
  return bytes;
}

function placeToWire(place: ClaimablePlace): berth.placement.v1.IAllocationRequest {
  const { host, allocations, mappings, spreadDomain = '', capacities } = place;
  return {
    host,
    capacities: capacities ? classesOf(allocations).map((name) => capacities[name] ?? 0) : [],
    allocations: allocationsToWire(allocations),
    mappings: mappingsToWire(mappings, allocations),
    spreadDomain,
  };
}

/** In the order in which they first stand there. */
function classesOf(allocations: Allocations): string[] {
  return [...new Set(Object.values(allocations).flatMap((resources) => Object.keys(resources)))];
}

function fromWire(message: berth.placement.v1.AllocationRequest): AllocationRequest {
  const allocations = allocationsFromWire(message.allocations);
  return {
    consumerUuid: uuidText(message.consumerUuid),
    host: message.host,
    allocations,
    projectId: message.projectId,
    userId: message.userId,
    group: message.group ? serverGroup.fromWire(message.group, 'allocation_request.group') : undefined,
    ...spreadFromWire(message),
    ...(message.priority === 0 ? {} : { priority: message.priority }),
    ...(message.isProtected ? { isProtected: true } : {}),
    ...(message.flavor === '' ? {} : { flavor: message.flavor }),
    ...(message.reservation === '' ? {} : { reservation: message.reservation }),
    ...(message.endsAtMs === 0 ? {} : { endsAtMs: message.endsAtMs }),
    mappings: mappingsFromWire(message.mappings, allocations),
    ...(message.sealedAtMs === 0 ? {} : { sealedAtMs: message.sealedAtMs }),
    ...(message.storeRevision === 0 ? {} : { storeRevision: message.storeRevision }),
    ...(message.capacities.length === 0 ? {} : { capacities: capacitiesFromWire(message.capacities, allocations) }),
  };
}

function capacitiesFromWire(capacities: readonly number[], allocations: Allocations): Resources {
  const amounts = classesOf(allocations).map((name, n) => [name, capacities[n] ?? 0] as const);
  // 0 stands for what is not known, as of a class that others share.
  return Object.fromEntries(amounts.filter(([, amount]) => amount > 0));
}

function spreadFromWire({ group, spreadAmong, spreadDomain }: berth.placement.v1.AllocationRequest) {
  if (group?.spread) return { spreadAmong, spreadDomain: spreadDomain === '' ? undefined : spreadDomain };
  return group?.within && spreadDomain !== '' ? { spreadDomain } : {};
}

/** The MAC of bytes that begin with the key, a byte a character: a Buffer would take half as long again as the MAC. */
function macOf(bytes: Uint8Array): string {
  return hash('sha3-256', bytes, 'binary').slice(0, MAC_BYTES);
}

/** The key after its length, so that no key with what follows it reads as another key. */
function prefixOf(key: string): Uint8Array {
  return Buffer.from(`${key.length}:${key}`);
}

function ofAnotherVersion(version: number | undefined): BerthError {
  const message = `an allocation request of version ${version ?? 'none'} can't be opened here; ask for destinations again`;
  return invalidArgument('allocation_request_version', message, 'allocation_request');
}

function expired(): BerthError {
  const message = 'the allocation request has expired (BERTH_CLAIM_TTL_MS); ask for destinations again';
  return invalidArgument('allocation_request_expired', message, 'allocation_request');
}

function forged(): BerthError {
  const message = 'the allocation request was changed on its way, or sealed under another BERTH_CLAIM_KEY';
  return invalidArgument('allocation_request_forged', message, 'allocation_request');
}
