import { invalidArgument } from './errors';
import { quoted } from './naming/bounded-text';

/*
 * Patterns of names, as the wire's schema and JSON schemas state them: each means the same to RE2, ECMAScript and Python.
 */
/** A UUID as it may be sent: in either case. Berth keeps it in lower case (`requireUuid`). */
export const UUID_PATTERN = '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$';
/** A UUID that RFC 9562 defines, by its version and variant (`isDefinedUuid`). */
export const CLIENT_UUID_PATTERN =
  '^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[1-8][0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$';
export const CLASS_OR_TRAIT_PATTERN = '^[A-Z0-9_]{1,255}$';
export const FLAVOR_NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$';
export const HOST_NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$';
/** A provider below a host's root, which is called `<host>:<name>`. */
export const NESTED_PROVIDER_NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const CLASS_OR_TRAIT = new RegExp(CLASS_OR_TRAIT_PATTERN);
const FLAVOR = new RegExp(FLAVOR_NAME_PATTERN);
const HOST = new RegExp(HOST_NAME_PATTERN);

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** True when the variant and version are defined by RFC 9562; clients may choose such uuids for instances. */
export function isDefinedUuid(uuid: string): boolean {
  return DEFINED_UUID.test(uuid);
}

/**
 * True when Berth derived the uuid from another, as for a migration or a reservation: it has the first variant bit of
 * RFC 9562, with a variant or version that the RFC does not define. No client may use such a uuid.
 */
export function isDerivedUuid(uuid: string): boolean {
  return OUTSIDE_OLDER_VARIANTS.test(uuid) && !isDefinedUuid(uuid);
}

const DEFINED_UUID = /^.{14}[1-8].{4}[89ab]/;
const OUTSIDE_OLDER_VARIANTS = /^.{19}[89a-f]/;

/**
 * The uuid with some bits of one digit flipped; flipping them again restores it. From a uuid that RFC 9562 defines,
 * flipping the highest version bit or the second variant bit gives a derived one.
 */
export function turnedUuid(uuid: string, digitAt: number, bits: number): string {
  const digit = Number.parseInt(uuid.charAt(digitAt), 16);
  return uuid.slice(0, digitAt) + (digit ^ bits).toString(16) + uuid.slice(digitAt + 1);
}

/** Upper case letters, digits and underscores, at most 255 of them: Placement's rule for traits and resource classes. */
export function isClassOrTraitName(text: string): boolean {
  return CLASS_OR_TRAIT.test(text);
}

/** A host name, safe in a queue's name and a metric's label. At most 255 characters. */
export function isHostName(text: string): boolean {
  return HOST.test(text);
}

/** A flavor's name, safe in the topic of an event. At most 100 characters. */
export function isFlavorName(text: string): boolean {
  return FLAVOR.test(text);
}

/**
 * A name that people see: without leading or trailing spaces and without control characters, which make two names look
 * alike and mean something to terminals, logs and C. The one rule of all names and ids, at the queues and over HTTP.
 *
 * @throws BerthError `invalid_argument / malformed_name` with the name in JSON form.
 */
export function requireVisibleName(text: string, field: string): string {
  if (text === '' || VISIBLE_NAME.test(text)) return text;
  const shown = JSON.stringify(quoted(text));
  const message = `${field} must have no space at its ends and no control character, not ${shown}`;
  throw invalidArgument('malformed_name', message, field);
}

const SEEN = '[^\\s\\x00-\\x1f\\x7f-\\x9f]';
const SPACED = '[^\\x00-\\x1f\\x7f-\\x9f]';
/** The rule of `requireVisibleName` for a name of at least one character. */
export const VISIBLE_NAME_PATTERN = `^${SEEN}(${SPACED}*${SEEN})?$`;
const VISIBLE_NAME = new RegExp(VISIBLE_NAME_PATTERN);

/** The uuid in lower case. @throws BerthError `invalid_argument / malformed_uuid` with the field. */
export function requireUuid(text: string, field: string): string {
  const uuid = text.toLowerCase();
  if (!isUuid(uuid)) throw invalidArgument('malformed_uuid', `${field} must be a UUID, not '${quoted(text)}'`, field);
  return uuid;
}

/** Binary search: the index of the first sorted name greater than the marker. */
export function indexAfter(sorted: readonly string[], marker: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as string) <= marker) low = middle + 1;
    else high = middle;
  }
  return low;
}
