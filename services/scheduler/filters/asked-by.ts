import { isImageWish } from '#libs/domain/extra-specs/image-properties';

/** For people: ` (extra spec trait:CUSTOM_A)` of what extra specs or image properties ask for, nothing of what is spelled out. */
export function askedBy(keys: readonly string[] | undefined): string {
  if (keys === undefined) return '';
  const parts = [
    named(
      'extra spec',
      'extra specs',
      keys.filter((key) => !isImageWish(key)),
    ),
    named('image property', 'image properties', keys.filter(isImageWish)),
  ];
  return ` (${parts.filter((part) => part !== '').join(', ')})`;
}

function named(one: string, several: string, keys: readonly string[]): string {
  return keys.length === 0 ? '' : `${keys.length > 1 ? several : one} ${keys.join(', ')}`;
}
