import { type berth } from '#generated/berth';
import type { Allocations } from '../domain/consumer';
import { invalidArgument } from '../domain/errors';
import { amounts, name, tooMany } from './checks';
import type { Conversion } from './field';
import { ruled, unrequired } from './field-rules';
import { mapValues } from './fields';
import { MAX_NAMES, MAX_RESOURCE_CLASSES } from './limits';

type WireAllocation = berth.placement.v1.ProviderAllocation;
type WireAllocations = readonly berth.placement.v1.IProviderAllocation[];
type WireMappings = Readonly<Record<string, berth.placement.v1.IProviderIndexes>>;

/** Suffixes of request groups to the uuids of the providers that meet them. */
export type Mappings = Readonly<Record<string, readonly string[]>>;

/** Allocations by provider: uuids as their 16 bytes, amounts in the order of the classes. */
export function allocationsToWire(allocations: Allocations): berth.placement.v1.IProviderAllocation[] {
  return Object.entries(allocations).map(([uuid, resources]) => ({
    providerUuid: uuidBytes(uuid),
    resourceClasses: Object.keys(resources),
    amounts: Object.values(resources),
  }));
}

/** As it was written by Berth itself: nothing is checked. */
export function allocationsFromWire(wire: readonly berth.placement.v1.IProviderAllocation[]): Allocations {
  return Object.fromEntries(
    (wire as readonly WireAllocation[]).map(({ providerUuid, resourceClasses, amounts: ofClasses }) => [
      uuidText(providerUuid),
      Object.fromEntries(resourceClasses.map((one, j) => [one, ofClasses[j] ?? 0])),
    ]),
  );
}

/** The same from whoever sent it. @throws BerthError `invalid_argument`: malformed_uuid, bad_amount, malformed_name, too_many. */
export function checkedAllocations(
  wire: readonly berth.placement.v1.IProviderAllocation[],
  field: string,
): Allocations {
  if (wire.length > MAX_NAMES) throw tooMany(field, MAX_NAMES);
  for (const [index, { providerUuid, resourceClasses }] of wire.entries()) {
    const at = `${field}[${index}]`;
    if (providerUuid?.length !== UUID_DIGITS.length) {
      throw invalidArgument(
        'malformed_uuid',
        `${at}.provider_uuid must be the 16 bytes of a UUID`,
        `${at}.provider_uuid`,
      );
    }
    if ((resourceClasses?.length ?? 0) > MAX_RESOURCE_CLASSES) throw tooMany(at, MAX_RESOURCE_CLASSES);
  }
  const allocations = allocationsFromWire(wire);
  for (const uuid in allocations) amounts(allocations[uuid] ?? {}, `${field}.${uuid}`);
  return allocations;
}

/** Mappings as indexes into the allocations that travel with them. */
export function mappingsToWire(
  mappings: Mappings,
  allocations: Allocations,
): Record<string, berth.placement.v1.IProviderIndexes> {
  const providers = Object.keys(allocations);
  return mapValues(mappings, (uuids) => ({ indexes: uuids.map((uuid) => providers.indexOf(uuid)) }));
}

/** An index that leads nowhere is left out. */
export function mappingsFromWire(wire: WireMappings, allocations: Allocations): Mappings {
  const providers = Object.keys(allocations);
  return mapValues(wire, ({ indexes }) => {
    return (indexes ?? []).map((index) => providers[index]).filter((uuid) => uuid !== undefined);
  });
}

/** The same from whoever sent it. @throws BerthError `invalid_argument`: too_long, too_many. */
export function checkedMappings(wire: WireMappings, allocations: Allocations, field: string): Mappings {
  const suffixes = Object.keys(wire);
  if (suffixes.length > MAX_NAMES) throw tooMany(field, MAX_NAMES);
  for (const suffix of suffixes) {
    name(suffix, field);
    if ((wire[suffix]?.indexes?.length ?? 0) > MAX_NAMES) throw tooMany(`${field}.${suffix}`, MAX_NAMES);
  }
  return mappingsFromWire(wire, allocations);
}

/** Claimed amounts, by provider. */
export const claimedAllocations: Conversion<Allocations, readonly berth.placement.v1.IProviderAllocation[]> = ruled(
  { maxItems: MAX_NAMES },
  { fromWire: checkedAllocations, toWire: allocationsToWire },
);

/** Providers in the message's `allocations` by the request group that they meet. */
export const claimedMappings = ruled(
  { maxPairs: MAX_NAMES, keys: unrequired(name) },
  {
    fromWire(wire: WireMappings, path: string, message: { readonly allocations: WireAllocations }): Mappings {
      const providers = (message.allocations as readonly WireAllocation[]).map((one) => uuidText(one.providerUuid));
      return checkedMappings(wire, Object.fromEntries(providers.map((uuid) => [uuid, {}])), path);
    },
    toWire: (mappings: Mappings, { allocations }: { readonly allocations: Allocations }) =>
      mappingsToWire(mappings, allocations),
  },
);

/** Digit by digit: parsing with Buffer and a regular expression takes seven times as long. */
export function uuidBytes(uuid: string): Uint8Array {
  const bytes = new Uint8Array(UUID_DIGITS.length);
  for (let i = 0; i < bytes.length; i++) {
    const at = UUID_DIGITS[i] as number;
    bytes[i] = (digit(uuid, at) << 4) | digit(uuid, at + 1);
  }
  return bytes;
}

/** The positions of the pairs of digits in the text of a uuid. */
const UUID_DIGITS = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;

/** The value of a lower-case hexadecimal digit; 'a' is 49 codes after '0'. */
function digit(text: string, at: number): number {
  const code = text.charCodeAt(at) - 48;
  return code > 9 ? code - 39 : code;
}

export function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
