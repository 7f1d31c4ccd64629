import { InvalidArgumentError } from '@commander-js/extra-typings';
import { MAX_FURTHER_KINDS } from '#libs/contracts/limits';
import type { FlavorVersion } from '#libs/domain/flavor';
import type { Resources } from '#libs/domain/inventory';
import { hintFor, isResourceClass } from '#libs/domain/naming/known-names';
import { amount } from '../number-flags';
import { flavorName } from './request-flags';

/** A kind of members of a gang besides the command's own. */
export interface MembersFlag {
  readonly name: string;
  readonly count: number;
  /** So many are enough; 0 for all. */
  readonly minCount: number;
  readonly size: { readonly flavor: FlavorVersion } | { readonly resources: Resources };
}

const FORM = 'NAME:count=8,flavor=gpu or NAME:count=8,VCPU=4,MEMORY_MB=8192';

/** The parser of `--members`: a name, then pairs; `count`, `min` and `flavor`, or amounts by resource class. */
export function parseMembers(text: string, before: readonly MembersFlag[]): MembersFlag {
  const [, name, rest] = /^([^:,=]+):(.+)$/.exec(text) ?? [];
  if (name === undefined || rest === undefined) throw new InvalidArgumentError(`It must look like ${FORM}.`);
  if (before.some((other) => other.name === name)) throw new InvalidArgumentError(`Two kinds are called '${name}'.`);
  if (before.length === MAX_FURTHER_KINDS) throw new InvalidArgumentError(`At most ${MAX_FURTHER_KINDS} kinds.`);
  const { count = '1', min = '0', flavor, ...amounts } = pairsOf(rest);
  const minCount = min === '0' ? 0 : amount(min);
  if (minCount > amount(count)) throw new InvalidArgumentError(`At most ${count} of '${name}' can become ACTIVE.`);
  return { name, count: amount(count), minCount, size: sizeOf(flavor, amounts) };
}

function pairsOf(text: string): Record<string, string | undefined> {
  const pairs = text.split(',').map((pair) => {
    const [, key = '', value = ''] = /^([^=]+)=(.+)$/.exec(pair) ?? [];
    if (key === '') throw new InvalidArgumentError(`It must look like ${FORM}.`);
    return [key, value] as const;
  });
  return Object.fromEntries(pairs);
}

function sizeOf(
  flavor: string | undefined,
  amounts: Readonly<Record<string, string | undefined>>,
): MembersFlag['size'] {
  const resources = Object.entries(amounts).map(([name, value = '']): [string, number] => {
    if (isResourceClass(name)) return [name, amount(value)];
    throw new InvalidArgumentError(`There is no resource class '${name}'; ${hintFor(name, 'resource class')}.`);
  });
  if (flavor !== undefined && resources.length === 0) return { flavor: { name: flavorName(flavor), version: 0 } };
  if (flavor === undefined && resources.length > 0) return { resources: Object.fromEntries(resources) };
  throw new InvalidArgumentError(`It needs a flavor or amounts, not both: ${FORM}.`);
}
