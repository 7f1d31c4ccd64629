import type { Instance } from '#libs/domain/instance';
import { type Random, randomInt } from '#libs/domain/random';
import type { Checker } from '../checker';
import type { Fleet } from '../fleet';

/** The fleet and its checker. */
export interface World {
  readonly fleet: Fleet;
  readonly checker: Checker;
}

/** An action on the fleet. */
export type Perform = (world: World) => void;

export function pick<T>(random: Random, from: readonly T[]): T {
  return from[randomInt(random, from.length)] as T;
}

/** An existing instance, by its place among all of them. */
export function instanceAt({ checker }: World, place: number): Instance | undefined {
  const all = [...checker.known.values()];
  return all[Math.floor(place * all.length)]?.latest;
}

/** True if a call succeeded: clients of the fleet ignore why it did not. */
export async function confirmed(sent: Promise<unknown> | undefined): Promise<boolean> {
  try {
    await sent;
    return true;
  } catch {
    return false;
  }
}
