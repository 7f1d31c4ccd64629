import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { ZONE_KEY } from '#libs/domain/grouping/aggregate';
import { MAX_LEVELS, type Within } from '#libs/domain/server-group';

/** Domain that members must stay within. */
export function withinOption() {
  const help = 'all in one rack (rack), or in one rack of one block (block/rack); zone, or any metadata of aggregates';
  return new Option('--within <levels>', help).argParser(levels);
}

/** Domain that members should stay within, inside of that. */
export function preferWithinOption() {
  const help = 'likewise as long as there is room; inside of --within';
  return new Option('--prefer-within <levels>', help).argParser(levels);
}

/** The rule of the flags; undefined without them. */
export function withinOf(flags: {
  readonly within?: readonly string[] | undefined;
  readonly preferWithin?: readonly string[] | undefined;
}): Within | undefined {
  const { within: required = [], preferWithin: preferred = [] } = flags;
  if (required.length + preferred.length === 0) return undefined;
  return { levels: [...required, ...preferred], required: required.length };
}

/** `zone` is short for the metadata name of zones. */
export function domainName(name: string): string {
  return name === 'zone' ? ZONE_KEY : name;
}

function levels(text: string): readonly string[] {
  const names = text.split('/').map(domainName);
  const isValid = names.every((name) => name !== '') && new Set(names).size === names.length;
  if (isValid && names.length <= MAX_LEVELS) return names;
  throw new InvalidArgumentError(`It must be up to ${MAX_LEVELS} names from the outside in, such as block/rack.`);
}
