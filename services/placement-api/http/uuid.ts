const HEX = /^[0-9a-f]{32}$/;

/**
 * A uuid with dashes and in lower case, from any of its written forms: without dashes, in braces, as a URN; undefined
 * for other texts. Placement accepts them all (oslo's `is_uuid_like`).
 */
export function normalUuid(text: string): string | undefined {
  const hex = text
    .toLowerCase()
    .replaceAll(/urn:|uuid:/g, '')
    .replaceAll(/^[{}]+|[{}]+$/g, '')
    .replaceAll('-', '');
  if (!HEX.test(hex)) return undefined;
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

export function isUuidLike(text: string): boolean {
  return normalUuid(text) !== undefined;
}
