/** A process of a service, as it says of itself. */
export interface SeenProcess {
  /** `scheduler`, `placement-api`. */
  readonly service: string;
  readonly name: string;
  readonly version: string;
  readonly startedAtMs: number;
  /** The reason why it is not ready; '' while it is. */
  readonly problem: string;
}

/** The processes that use a store, for people: no rule reads them. Not a commit. */
export interface ProcessStore {
  /** Notes that a process was seen, in place of what was noted of it before; forgets those not seen for `keptMs`. */
  noteProcess(process: SeenProcess, atMs: number, keptMs: number): Promise<void>;

  /** Forgets a process that ends by itself. */
  forgetProcess(service: string, name: string): Promise<void>;

  /** All that are noted, each with the time when it was seen last; at most `MAX_PROCESSES`. */
  processes(): Promise<(SeenProcess & { readonly seenAtMs: number })[]>;
}

/** Above this, those not seen for the longest time go. */
export const MAX_PROCESSES = 2_000;
