import { InvalidArgumentError } from 'commander';
import type { Filter } from './filter-flags';

/** A request group: conditions that one provider meets; those of the group without a suffix a whole tree may meet. */
export interface Group extends Filter {
  /** The suffix of its parameters; '' for the conditions outside of all groups. */
  readonly suffix: string;
}

const KEYS = ['resources', 'required', 'forbidden', 'member_of', 'in_tree'] as const;
type Key = (typeof KEYS)[number];

/** A valid suffix since microversion 1.33. */
const SUFFIX = /^[a-zA-Z0-9_-]{1,64}$/;

const FORM =
  'It must look like NAME:resources=SRIOV_NET_VF:1,required=CUSTOM_X; the keys are resources, required, forbidden, member_of and in_tree.';

/**
 * The parser of `--group`: `NAME:key=value,key=value`. Commas also separate the values of one key: a part without a key
 * belongs to the key before it.
 */
export function addGroup(text: string, before: readonly Group[]): Group[] {
  const colon = text.indexOf(':');
  const suffix = text.slice(0, Math.max(0, colon));
  if (!SUFFIX.test(suffix)) throw new InvalidArgumentError(FORM);
  if (before.some((group) => group.suffix === suffix)) {
    throw new InvalidArgumentError(`There is a group ${suffix} already: each needs a name of its own.`);
  }
  const values = valuesIn(text.slice(colon + 1));
  const listOf = (key: Key) => values.get(key) ?? [];
  const [resources] = listOf('resources');
  const [inTree] = listOf('in_tree');
  const group: Group = {
    suffix,
    required: listOf('required'),
    forbidden: listOf('forbidden'),
    memberOf: listOf('member_of'),
    ...(resources === undefined ? {} : { resources }),
    ...(inTree === undefined ? {} : { inTree }),
  };
  return [...before, group];
}

/** The resource classes that a group requests. */
export function classesOf({ resources = '' }: Filter): string[] {
  return amountsIn(resources).map((amount) => amount.split(':')[0] ?? '');
}

/** `VCPU:1` and `MEMORY_MB:512` of `VCPU:1,MEMORY_MB:512`. */
export function amountsIn(resources: string): string[] {
  return resources.split(',').filter((amount) => amount !== '');
}

function valuesIn(text: string): ReadonlyMap<Key, string[]> {
  const values = new Map<Key, string[]>();
  let key: Key | undefined;
  for (const part of text.split(',')) {
    const [, name, value = ''] = /^([a-z_]+)=(.*)$/s.exec(part) ?? [];
    if (name === undefined) {
      // Continues the value before it: `resources=VCPU:1,MEMORY_MB:512`.
      const list = key === undefined ? undefined : values.get(key);
      if (list === undefined || part === '') throw new InvalidArgumentError(FORM);
      list.push(`${list.pop()},${part}`);
      continue;
    }
    key = KEYS.find((known) => known === name);
    if (key === undefined) throw new InvalidArgumentError(FORM);
    values.set(key, [...(values.get(key) ?? []), value]);
  }
  return values;
}
