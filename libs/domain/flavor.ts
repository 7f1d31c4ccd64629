import type { Resources } from './inventory';

/** What a flavor says of the instances that are built from it. */
export interface FlavorContent {
  /** For people. */
  readonly description: string;
  /** Amounts of an instance, which extra specs may change (`extra-specs/`). */
  readonly resources: Resources;
  readonly extraSpecs: Readonly<Record<string, string>>;
}

/** A named size of instances, as in Nova: what a build request names instead of spelling it out. */
export interface Flavor extends FlavorContent {
  readonly name: string;
  /** Rises with each change; no flavor of the store ever has it again, not even a later one of the same name. */
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The flavor that a request spec is made from, as it was then. */
export interface FlavorVersion {
  readonly name: string;
  /** 0 until a conductor has written into the spec what the flavor says. */
  readonly version: number;
}
