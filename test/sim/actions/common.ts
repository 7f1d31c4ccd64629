import type { Instance } from '#libs/domain/instance';
import { type Random, randomInt } from '#libs/domain/random';
import type { Checker } from '../checker';
import type { Fleet } from '../fleet';

/** The fleet, and who watches it. */
export interface World {
  readonly fleet: Fleet;
  readonly checker: Checker;
}

/** What somebody or something does to the fleet. */
export type Perform = (world: World) => void;

export function pick<T>(random: Random, from: readonly T[]): T {
  return from[randomInt(random, from.length)] as T;
}

/** An instance that is there, by its place among all of them. */
export function instanceAt({ checker }: World, place: number): Instance | undefined {
  const all = [...checker.known.values()];
  return all[Math.floor(place * all.length)]?.latest;
}

/** Whether it went through: clients of the fleet do not care why not. */
export async function confirmed(sent: Promise<unknown> | undefined): Promise<boolean> {
  try {
    await sent;
    return true;
  } catch {
    return false;
  }
}
