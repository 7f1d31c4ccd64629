/**
 * True when a value satisfies an extra spec, with Nova's operators: numbers compare with `=` (at least), `==`, `!=`,
 * `>=`, `<=`; texts with `s==`, `s!=`, `s<`, `s<=`, `s>`, `s>=`; `<in> x` is a part of the value, `<all-in> x y` are
 * all parts of it, `<or> x <or> y` is one of several. Without an operator the texts are equal.
 */
export function matchesSpec(value: string, wanted: string): boolean {
  const [operator = '', ...words] = wanted.trim().split(/\s+/);
  const rest = words.join(' ');
  if (operator === '<or>') return rest.split('<or>').some((one) => one.trim() === value);
  if (operator === '<all-in>') return words.length > 0 && words.every((word) => value.includes(word));
  if (operator === '<in>') return rest !== '' && value.includes(rest);
  const compare = NUMBERS.get(operator);
  if (compare) return rest !== '' && compare(Number(value), Number(rest));
  const order = TEXTS.get(operator);
  if (order) return order(value, rest);
  return value === wanted;
}

/* A text that is no number is NaN, which compares as false but for `!=`: there both must be numbers. */
const NUMBERS: ReadonlyMap<string, (a: number, b: number) => boolean> = new Map(
  Object.entries({
    '=': (a, b) => a >= b,
    '==': (a, b) => a === b,
    '!=': (a, b) => a < b || a > b,
    '>=': (a, b) => a >= b,
    '<=': (a, b) => a <= b,
  }),
);

const TEXTS: ReadonlyMap<string, (a: string, b: string) => boolean> = new Map(
  Object.entries({
    's==': (a, b) => a === b,
    's!=': (a, b) => a !== b,
    's<': (a, b) => a < b,
    's<=': (a, b) => a <= b,
    's>': (a, b) => a > b,
    's>=': (a, b) => a >= b,
  }),
);
