import { hash } from 'node:crypto';
import { NESTED_PROVIDER_NAME_PATTERN } from '../../domain/names';

/** The hexadecimal digits and dashes that uuids of one host's nested providers have in common: 48 bits. */
const PREFIX_LENGTH = 13;

/** The uuid of a host's root provider, made of cell and name (RFC 9562, version 8): the same after its agent lost its state. */
export function hostProviderUuid(cell: string, host: string): string {
  const hex = hash('sha256', `berth provider ${cell}/${host}`, 'hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, variant + hex.slice(17, 20)];
  return [...parts, hex.slice(20, 32)].join('-');
}

/** True when a uuid is made of something (version 8), as those of hosts' providers are, and not drawn. */
export function isMadeUuid(uuid: string): boolean {
  return uuid[14] === '8';
}

/**
 * The uuid of a provider below a host's root (RFC 9562, version 8): of the first 48 bits by a hash of the root's uuid, of the
 * others by one of the root and the name. So a device is the same provider after its agent or the store lost everything,
 * nobody else's can be named, and an agent knows a uuid as its own whose device it has never seen or sees no more.
 */
export function nestedProviderUuid(rootUuid: string, name: string): string {
  const hex = digest(`${rootUuid}/${name}`);
  const variant = ((Number.parseInt(hex.slice(3, 4), 16) & 3) | 8).toString(16);
  return `${prefixOf(rootUuid)}-8${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`;
}

/** True for the uuid of any provider below this root, existing or not. */
export function isNestedUuidOf(rootUuid: string, uuid: string): boolean {
  return uuid.startsWith(`${prefixOf(rootUuid)}-8`);
}

const NAME = new RegExp(NESTED_PROVIDER_NAME_PATTERN);

/** A nested provider's name on its host: `numa0`, `0000:81:00.0`. */
export function isNestedProviderName(text: string): boolean {
  return NAME.test(text);
}

/** Those of a host's nested providers that hang on no root: their parents are not there, or below themselves. */
export function unorderable<P extends { readonly name: string; readonly parent: string }>(
  providers: readonly P[],
): P[] {
  let left = [...providers];
  const placed = new Set(['']);
  for (let before = -1; before !== placed.size; ) {
    before = placed.size;
    const next = left.filter(({ parent }) => placed.has(parent));
    left = left.filter(({ parent }) => !placed.has(parent));
    for (const { name } of next) placed.add(name);
  }
  return left;
}

/** A nested provider's name in the store. Host names have no colon, so none collides. */
export function nestedProviderName(host: string, name: string): string {
  return `${host}:${name}`;
}

function prefixOf(rootUuid: string): string {
  const hex = digest(rootUuid);
  return `${hex.slice(0, 8)}-${hex.slice(8, PREFIX_LENGTH - 1)}`;
}

function digest(text: string): string {
  return hash('sha256', `berth nested provider ${text}`, 'hex');
}
