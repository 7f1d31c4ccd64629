/** Randomness as a dependency, so that a fleet can run from a seed. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** A new version 4 UUID, lower case. */
  uuid(): string;
}

/**
 * A small, fast generator (mulberry32, Tommy Ettinger); the same seed gives the same stream. Not for secrets.
 *
 * Each decision and each simulated process makes its own, so the first numbers matter, even with similar seeds. Two of
 * pure-rand's generators begin with their seed's complement (the first number of each of the seeds 1 to 10,000 is 1.0),
 * one is a linear congruence, and the Mersenne Twister takes 16 µs to make, this one 0.2 with ten numbers.
 */
export function seededRandom(seed: number): Random {
  // Signed, because a number above 2^31 would be an object of its own each time.
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  return { next, uuid: () => uuidFrom(next) };
}

/** A 32-bit seed from a text such as a request id (FNV-1a). */
export function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** A whole number in [0, bound). */
export function randomInt(random: Random, bound: number): number {
  return Math.floor(random.next() * bound);
}

function uuidFrom(next: () => number): string {
  return 'xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx'.replace(/[xy]/g, (place) => {
    const nibble = Math.floor(next() * 16);
    return (place === 'x' ? nibble : 8 + (nibble & 3)).toString(16);
  });
}
