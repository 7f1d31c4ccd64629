import { InvalidArgumentError } from '@commander-js/extra-typings';
import type { Filter } from './filter-flags';

/** A request group: conditions that one provider meets; a whole tree may meet those of the unnumbered group. */
export interface Group extends Filter {
  /** The suffix of its parameters; '' for the conditions outside of all groups. */
  readonly suffix: string;
}

const KEYS = ['resources', 'required', 'forbidden', 'member_of', 'in_tree'] as const;

/** A valid suffix since microversion 1.33. */
const SUFFIX = /^[a-zA-Z0-9_-]{1,64}$/;

const FORM =
  'It must look like NAME:resources=SRIOV_NET_VF:1,required=CUSTOM_X; the keys are resources, required, forbidden, member_of and in_tree.';

/**
 * The parser of `--group`: `NAME:key=value,key=value`. Commas also separate the values of one key: a part without a key
 * belongs to the key before it. `before` are the earlier groups.
 */
export function parseGroup(text: string, before: readonly { readonly suffix: string }[]): Group {
  const colon = text.indexOf(':');
  const suffix = text.slice(0, Math.max(0, colon));
  if (!SUFFIX.test(suffix)) throw new InvalidArgumentError(FORM);
  if (before.some((group) => group.suffix === suffix)) {
    throw new InvalidArgumentError(`There is a group ${suffix} already: each needs a name of its own.`);
  }
  const values = valuesIn(text.slice(colon + 1));
  const listOf = (key: (typeof KEYS)[number]) => values.get(key) ?? [];
  return {
    suffix,
    resources: listOf('resources')[0],
    required: listOf('required'),
    forbidden: listOf('forbidden'),
    memberOf: listOf('member_of'),
    inTree: listOf('in_tree')[0],
  };
}

/** The resource classes that a group requests. */
export function classesOf({ resources = '' }: Filter): string[] {
  return amountsIn(resources).map((amount) => amount.split(':')[0] ?? '');
}

/** `VCPU:1` and `MEMORY_MB:512` of `VCPU:1,MEMORY_MB:512`. */
export function amountsIn(resources: string): string[] {
  return resources.split(',').filter((amount) => amount !== '');
}

function valuesIn(text: string): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>(KEYS.map((key) => [key, []]));
  // A comma without a key after it continues the value before it: `resources=VCPU:1,MEMORY_MB:512`.
  for (const part of text.split(/,(?=[a-z_]+=)/)) {
    const [key = '', value = ''] = part.split(/=(.*)/s);
    const list = values.get(key);
    if (list === undefined || value.split(',').includes('')) throw new InvalidArgumentError(FORM);
    list.push(value);
  }
  return values;
}
