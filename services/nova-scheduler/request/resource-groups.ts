import type { RequestGroup } from '#libs/domain/request-spec';

const KEY = /^(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)$/;
const RESOURCE_CLASS = /^[A-Z0-9_]+$/;

interface GroupDraft {
  readonly resources: Map<string, number>;
  readonly required: Set<string>;
  readonly forbidden: Set<string>;
  memberOf: readonly (readonly string[])[];
  readonly forbiddenAggregates: Set<string>;
  inTree: string | undefined;
}

/** The request groups of a query while they are put together; '' is the group without a suffix. */
export class ResourceGroups {
  readonly #groups = new Map<string, GroupDraft>();
  groupPolicy: 'none' | 'isolate' | undefined;

  group(suffix = ''): GroupDraft {
    const known = this.#groups.get(suffix);
    if (known !== undefined) return known;
    const made = {
      resources: new Map<string, number>(),
      required: new Set<string>(),
      forbidden: new Set<string>(),
      memberOf: [],
      forbiddenAggregates: new Set<string>(),
      inTree: undefined,
    };
    this.#groups.set(suffix, made);
    return made;
  }

  has(suffix: string): boolean {
    return this.#groups.has(suffix);
  }

  addResource(name: string, amount: number, suffix = ''): void {
    this.group(suffix).resources.set(name, amount);
  }

  /** Reads `resources[S]:CLASS`, `trait[S]:TRAIT` and `group_policy`; malformed ones are left out, as Nova does. */
  addExtraSpecs(extraSpecs: ReadonlyMap<string, string>): void {
    for (const [key, value] of extraSpecs) {
      if (key === 'group_policy' && (value === 'none' || value === 'isolate')) this.groupPolicy = value;
      const [, kind, suffix = '', name = ''] = KEY.exec(key) ?? [];
      if (kind === 'resources' && RESOURCE_CLASS.test(name) && /^\d{1,10}$/.test(value))
        this.addResource(name, Number(value), suffix);
      if (kind === 'trait' && value === 'required') this.group(suffix).required.add(name);
      if (kind === 'trait' && value === 'forbidden') this.group(suffix).forbidden.add(name);
    }
  }

  /** True when some group asks for the class, an amount of 0 included. */
  asksFor(resourceClass: string): boolean {
    return [...this.#groups.values()].some(({ resources }) => resources.has(resourceClass));
  }

  get suffixedCount(): number {
    return [...this.#groups.keys()].filter((suffix) => suffix !== '').length;
  }

  get requiredTraits(): ReadonlySet<string> {
    return new Set([...this.#groups.values()].flatMap(({ required }) => [...required]));
  }

  /** The groups that ask for anything, amounts of 0 left out. */
  toList(): RequestGroup[] {
    return [...this.#groups]
      .map(([suffix, { resources, required, forbidden, memberOf, forbiddenAggregates, inTree }]) => ({
        suffix,
        resources: Object.fromEntries([...resources].filter(([, amount]) => amount > 0)),
        requiredTraits: [...required].sort().map((trait) => [trait]),
        forbiddenTraits: [...forbidden].sort(),
        memberOf,
        forbiddenAggregates: [...forbiddenAggregates].sort(),
        inTree,
      }))
      .filter((group) => !isEmpty(group));
  }
}

function isEmpty({ resources, requiredTraits, forbiddenTraits, memberOf, forbiddenAggregates }: RequestGroup): boolean {
  const lists = [requiredTraits, forbiddenTraits, memberOf, forbiddenAggregates];
  return Object.keys(resources).length === 0 && lists.every(({ length }) => length === 0);
}
