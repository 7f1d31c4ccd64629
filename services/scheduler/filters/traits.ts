import { askedBy } from './asked-by';
import type { Check, ClassFilter } from './filter';

/**
 * traits: only hosts with every required trait and without any forbidden one, on their root provider where that is asked.
 *
 * Traits say what a host is (`HW_CPU_X86_AVX2`) or what an operator made of it (`CUSTOM_LICENSED_DATABASE`). With nested
 * or sharing providers a required trait may stand on any provider behind the host, and forbidden ones are left to the
 * candidate search, which knows the providers that an instance would use. Reasons: `missing_trait_<trait>`,
 * `forbidden_trait_<trait>`, `missing_root_trait_<trait>`, `forbidden_root_trait_<trait>`, the trait in lower case.
 */
export const traitsFilter: ClassFilter = {
  kind: 'class',
  name: 'traits',
  saysWhere: true,
  prepare: ({ requiredTraits, forbiddenTraits, rootRequiredTraits, rootForbiddenTraits, origins }) => [
    ...requiredTraits.map((trait) => required(trait, askedBy(origins.traits[trait]))),
    ...forbiddenTraits.map((trait) => forbidden(trait, askedBy(origins.traits[trait]))),
    ...rootRequiredTraits.map((trait) => onRoot(trait, true, askedBy(origins.traits[trait]))),
    ...rootForbiddenTraits.map((trait) => onRoot(trait, false, askedBy(origins.traits[trait]))),
  ],
};

function required(trait: string, by: string): Check {
  const missing = { symbol: `missing_trait_${trait.toLowerCase()}`, phrase: `lack trait ${trait}${by}` };
  return {
    refuse: ({ traits }) => (traits.has(trait) ? undefined : missing),
    describe: () => `wants trait ${trait}${by}, the host lacks it`,
  };
}

function forbidden(trait: string, by: string): Check {
  const symbol = `forbidden_trait_${trait.toLowerCase()}`;
  const refused = { symbol, phrase: `have the forbidden trait ${trait}${by}` };
  return {
    refuse: ({ providers, traits }) => (providers === undefined && traits.has(trait) ? refused : undefined),
    describe: () => `forbids trait ${trait}${by}, the host has it`,
  };
}

function onRoot(trait: string, isWanted: boolean, by: string): Check {
  const wrong = isWanted
    ? { symbol: `missing_root_trait_${trait.toLowerCase()}`, phrase: `lack trait ${trait} on their root provider${by}` }
    : { symbol: `forbidden_root_trait_${trait.toLowerCase()}`, phrase: `have ${trait} on their root provider${by}` };
  return {
    refuse: ({ root }) => (root.traits.includes(trait) === isWanted ? undefined : wrong),
    describe: () =>
      isWanted
        ? `wants trait ${trait} on the root provider${by}, the host lacks it`
        : `forbids trait ${trait} on the root provider${by}, the host has it`,
  };
}
