import { type Random, randomInt } from '../../domain/random';

/**
 * The numbers below `count` that are accepted, each once, lazily: ascending, or with a random in long strides from a random
 * start (a linear congruential sequence), so that neighbours do not follow each other and nothing has to be shuffled.
 */
export function* walk(
  count: number,
  random?: Random,
  accepts: (at: number) => boolean = () => true,
): Generator<number> {
  let at = random === undefined ? 0 : randomInt(random, count);
  const stride = random === undefined ? 1 : strideFor(count, random);
  for (let seen = 0; seen < count; seen++) {
    if (accepts(at)) yield at;
    at += stride;
    if (at >= count) at -= count;
  }
}

/** A stride that visits every number once: without a common divisor with `count`, and smaller. */
function strideFor(count: number, random: Random): number {
  let stride = 1 + randomInt(random, count);
  while (greatestCommonDivisor(stride, count) !== 1) stride = 1 + (stride % count);
  return stride;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
