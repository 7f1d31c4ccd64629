import { RULE_SCOPE } from '#libs/domain/extra-specs/parse';
import type { Check, ClassFilter } from '../filters/filter';
import type { HostState } from '../fleet/host-state';
import { parseExpression } from './expression';
import { evaluatorFor } from './rule-input';
import type { DeclaredRule } from './rules';

/**
 * A filter that an operator declares (Nova's JsonFilter, but by the operator and not by the tenant; Nomad's constraints):
 * hosts pass where its expression is true. A host where it has no value is refused, since nobody knows that it would pass.
 * Reason: `rule_<name>`.
 *
 * @throws Error as `parseExpression`
 */
export function declaredFilter({ name, expression: text }: DeclaredRule): ClassFilter {
  const expression = parseExpression(text, 'bool');
  const reason = { symbol: `rule_${name}`, phrase: `do not meet ${name}` };
  return {
    kind: 'class',
    name,
    ...(expression.readsLoad ? {} : { saysWhere: true }),
    prepare(asked): Check[] {
      const evaluate = evaluatorFor(expression, asked);
      const valueOn = (host: HostState) => {
        try {
          return evaluate(host);
        } catch (thrown) {
          return firstLine(thrown);
        }
      };
      return [
        {
          refuse: (host) => (valueOn(host) === true ? undefined : reason),
          describe: (host) => `${text} is ${String(valueOn(host))}`,
        },
      ];
    },
  };
}

/** Refuses requests with an extra spec for rules that no rule reads: an ignored wish is a broken promise. */
export function unreadRuleKeys(keys: ReadonlySet<string>): ClassFilter {
  return {
    kind: 'class',
    name: 'declared_rules',
    saysWhere: true,
    prepare: ({ extraSpecs }) =>
      Object.keys(extraSpecs)
        .filter((key) => key.startsWith(RULE_SCOPE) && !keys.has(key))
        .map((key) => {
          const reason = { symbol: 'rule_unread', phrase: `have no declared rule that reads ${key}` };
          return { refuse: () => reason, describe: () => `no declared filter or weigher reads the extra spec ${key}` };
        }),
  };
}

function firstLine(thrown: unknown): string {
  return `unknown (${String(thrown instanceof Error ? thrown.message : thrown).split('\n')[0]})`;
}
