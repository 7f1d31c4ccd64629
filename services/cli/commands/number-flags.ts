import { InvalidArgumentError } from '@commander-js/extra-typings';
import { MAX_AMOUNT } from '#libs/domain/inventory';

/** Makes a parser of whole numbers from `min` up. */
export function wholeFrom(min: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > MAX_AMOUNT) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${MAX_AMOUNT}.`);
    }
    return value;
  };
}

/** The parser of amounts and counts. */
export const amount = wholeFrom(1);

/** The parser of shares, 0 to 1. */
export function share(text: string): number {
  const value = Number(text);
  if (!/^\d*\.?\d+$/.test(text) || value > 1) throw new InvalidArgumentError('It must be a number from 0 to 1.');
  return value;
}
