import { BerthError } from '#libs/domain/errors';
import { type Inventories, inventory, MAX_AMOUNT, type Resources } from '#libs/domain/inventory';
import { isClassOrTraitName } from '#libs/domain/names';

/*
 * Parsers of host shapes in settings. A setting may hold several entries with `|` between them, which the hosts of a
 * process get round-robin, so that one process carries a fleet of different hosts.
 *
 * All parsers throw BerthError `invalid_argument / bad_config` with the setting's name.
 */

/** The entry of the n-th host; `fallback` when there are no entries. */
export function roundRobin<T>(entries: readonly T[], hostIndex: number, fallback: T): T {
  return entries[hostIndex % Math.max(1, entries.length)] ?? fallback;
}

/** `VCPU=64*4,MEMORY_MB=262144-4096 | ...`: total, then reserved, then the allocation ratio. */
export function parseInventories(setting: string, text: string): Inventories[] {
  return entriesOf(text).map((entry) =>
    Object.fromEntries(wordsOf(entry).map((word) => parseInventory(setting, word))),
  );
}

/** `VCPU=4,MEMORY_MB=8192 | ...` */
export function parseAmounts(setting: string, text: string): Resources[] {
  return entriesOf(text).map((entry) =>
    Object.fromEntries(
      wordsOf(entry).map((word) => {
        const match = /^([A-Z0-9_]+)=(\d+)$/.exec(word);
        if (!match) throw badShape(setting, word, 'CLASS=amount');
        return [match[1], Number(match[2])];
      }),
    ),
  );
}

/** `HW_CPU_X86_AVX2,CUSTOM_SSD | ...` */
export function parseTraits(setting: string, text: string): string[][] {
  return entriesOf(text).map((entry) => {
    const traits = wordsOf(entry);
    const bad = traits.find((trait) => !isClassOrTraitName(trait));
    if (bad !== undefined) throw badShape(setting, bad, 'a trait: upper case letters, digits and underscores');
    return traits;
  });
}

/** `hw_architecture=x86_64/i686,img_hv_type=kvm` */
export function parseCapabilities(setting: string, text: string): Record<string, readonly string[]> {
  return Object.fromEntries(
    wordsOf(text).map((word) => {
      const [name, values, ...more] = word.split('=');
      if (!name || !values || more.length > 0) throw badShape(setting, word, 'name=value/value');
      return [name, values.split('/')];
    }),
  );
}

/** `VCPU=64-2*4` */
export function parseInventory(setting: string, word: string) {
  const match = /^([A-Z0-9_]{1,255})=(\d+)(?:-(\d+))?(?:\*(\d+(?:\.\d+)?))?$/.exec(word);
  if (!match) throw badShape(setting, word, 'CLASS=total, CLASS=total-reserved or CLASS=total*ratio');
  const [, resourceClass = '', total, reserved = 0, allocationRatio = 1] = match;
  const inv = inventory(Number(total), { reserved: Number(reserved), allocationRatio: Number(allocationRatio) });
  if (inv.total > MAX_AMOUNT || inv.reserved > inv.total || inv.allocationRatio === 0) {
    throw badShape(setting, word, `reserved up to total, total up to ${MAX_AMOUNT} and a ratio above 0`);
  }
  return [resourceClass, inv] as const;
}

/** Entries between bars. */
export function entriesOf(text: string): string[] {
  return text.trim() === '' ? [] : text.split('|');
}

/** Words between commas. */
export function wordsOf(entry: string): string[] {
  return entry
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

export function badShape(setting: string, word: string, wanted: string): BerthError {
  return new BerthError('invalid_argument', 'bad_config', `${setting}: '${word}' must be ${wanted}`);
}
