import { Option } from '@commander-js/extra-typings';

/** A repeatable flag: its value is the list of all given values. `parse` also gets the earlier ones. */
export function repeatable<const F extends string, T>(
  flags: F,
  help: string,
  parse: (text: string, before: readonly T[]) => T,
) {
  return new Option(flags, `${help}; may be given again`)
    .default<readonly T[]>([])
    .argParser((text, before: readonly T[]): readonly T[] => [...before, parse(text, before)]);
}
