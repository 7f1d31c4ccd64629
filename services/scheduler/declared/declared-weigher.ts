import type { ClassWeigher } from '../weighers/weigher';
import { parseExpression } from './expression';
import { evaluatorFor } from './rule-input';
import type { DeclaredWeigher } from './rules';

/** A declared weigher, ready to weigh. */
export interface WeightedRule {
  readonly weigher: ClassWeigher;
  readonly weight: number;
}

/**
 * A weigher that an operator declares: its expression gives 0 to 1, and numbers beyond count as the nearer end. A host
 * where it has no value has 0.
 *
 * @throws Error as `parseExpression`
 */
export function declaredWeigher({ name, weight, expression: text }: DeclaredWeigher): WeightedRule {
  const expression = parseExpression(text, 'number');
  const weigher: ClassWeigher = {
    kind: 'class',
    name,
    prepare(asked) {
      const evaluate = evaluatorFor(expression, asked);
      return {
        lower: 0,
        upper: 1,
        raw(host) {
          try {
            const value = Number(evaluate(host));
            return Number.isFinite(value) ? value : 0;
          } catch {
            return 0;
          }
        },
      };
    },
  };
  return { weigher, weight };
}
