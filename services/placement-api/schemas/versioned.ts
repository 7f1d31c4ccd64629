import type { Microversion } from '../http/microversion';

/** What holds from each microversion on, oldest first. */
export type Versioned<T> = readonly (readonly [since: Microversion, value: T])[];

/** What holds at a microversion; undefined before the first. */
export function at<T>(versioned: Versioned<T> | undefined, version: Microversion): T | undefined {
  return versioned?.findLast(([since]) => since <= version)?.[1];
}
