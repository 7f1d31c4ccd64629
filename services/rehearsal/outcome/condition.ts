import { METRICS, type Metric, type Summary } from './summarize';

/** A condition that no rehearsal may meet: `refused > 0`. */
export interface Condition {
  readonly text: string;
  readonly metric: Metric;
  readonly operator: '>' | '>=' | '<' | '<=';
  readonly value: number;
}

const FORM = /^\s*([a-z]+)\s*(>=|<=|>|<)\s*(\d+(?:\.\d+)?)\s*$/;

/** Undefined for text that is not a condition. */
export function parseCondition(text: string): Condition | undefined {
  const [, name, operator, value] = FORM.exec(text) ?? [];
  const metric = METRICS.find((one) => one === name);
  if (metric === undefined) return undefined;
  return { text: text.trim(), metric, operator: operator as Condition['operator'], value: Number(value) };
}

/** True if some rehearsal meets the condition. */
export function holds({ metric, operator, value }: Condition, { metrics }: Pick<Summary, 'metrics'>): boolean {
  const { least, most } = metrics[metric];
  switch (operator) {
    case '>':
      return most > value;
    case '>=':
      return most >= value;
    case '<':
      return least < value;
    case '<=':
      return least <= value;
  }
}
