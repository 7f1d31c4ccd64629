import { uuidBytes, uuidText } from '../../contracts/allocations';

/*
 * Allocation requests by reference: instead of the sealed bytes a Selection carries the UUID under which the store keeps them
 * for a while. Seventeen bytes: a first one that no sealed request begins with, and the UUID.
 */

const REFERENCE = 0x80;
const REFERENCE_BYTES = 17;

/** The bytes that refer to the allocation request of this id. */
export function referenceTo(id: string): Uint8Array {
  const bytes = new Uint8Array(REFERENCE_BYTES);
  bytes[0] = REFERENCE;
  bytes.set(uuidBytes(id), 1);
  return bytes;
}

/** The id that bytes refer to; undefined when they are something else, as a sealed request is. */
export function referencedId(bytes: Uint8Array): string | undefined {
  return bytes.length === REFERENCE_BYTES && bytes[0] === REFERENCE ? uuidText(bytes.subarray(1)) : undefined;
}
