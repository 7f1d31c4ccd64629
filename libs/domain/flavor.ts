import type { Resources } from './inventory';

/** The settings of a flavor. */
export interface FlavorContent {
  /** For people. */
  readonly description: string;
  /** Amounts for one instance; extra specs may change them (`extra-specs/`). */
  readonly resources: Resources;
  readonly extraSpecs: Readonly<Record<string, string>>;
}

/** A named size of instances, as in Nova; a build request names it. */
export interface Flavor extends FlavorContent {
  readonly name: string;
  /** Rises with each change and is never reused, not even by a later flavor of the same name. */
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The flavor of a request spec, at the version that was read. */
export interface FlavorVersion {
  readonly name: string;
  /** 0 until a conductor fills in the flavor's settings. */
  readonly version: number;
}
