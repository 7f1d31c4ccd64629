const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** A whole amount with Kubernetes' suffixes, `80Gi`; undefined for other text, and beyond 2^53 - 1. */
export function parseQuantity(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,16}(?:\.\d{1,6})?)(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/.exec(text) ?? [];
  const amount = digits === undefined ? Number.NaN : Number(digits) * (UNITS[unit] ?? Number.NaN);
  return Number.isSafeInteger(amount) ? amount : undefined;
}

/** The shortest text that `parseQuantity` reads as the amount. */
export function formatQuantity(amount: number): string {
  for (const unit of ['Pi', 'Ti', 'Gi', 'Mi', 'Ki']) {
    const size = UNITS[unit] as number;
    if (amount >= size && amount % size === 0) return `${amount / size}${unit}`;
  }
  return String(amount);
}
