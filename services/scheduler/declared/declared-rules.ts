import { RULE_SCOPE } from '#libs/domain/extra-specs/parse';
import type { ClassFilter } from '../filters/filter';
import { declaredFilter, unreadRuleKeys } from './declared-filter';
import { declaredWeigher, type WeightedRule } from './declared-weigher';
import { readFilter, readWeigher } from './rules';

interface DeclaredTexts {
  readonly declaredFilters: readonly string[];
  readonly declaredWeighers: readonly string[];
}

/** The filters and weighers that a configuration declares. The configuration has been checked (`problemOfFilter`). */
export function declaredRules({ declaredFilters, declaredWeighers }: DeclaredTexts): {
  readonly filters: readonly ClassFilter[];
  readonly weightedRules: readonly WeightedRule[];
} {
  const filters = declaredFilters.flatMap((text) => readFilter(text) ?? []);
  const weighers = declaredWeighers.flatMap((text) => readWeigher(text) ?? []);
  const keys = new Set([...filters, ...weighers].flatMap(({ expression }) => expression.match(RULE_KEYS) ?? []));
  return {
    filters: [...filters.map(declaredFilter), unreadRuleKeys(keys)],
    weightedRules: weighers.map(declaredWeigher),
  };
}

const RULE_KEYS = new RegExp(`${RULE_SCOPE}[a-z0-9_.-]+`, 'g');
