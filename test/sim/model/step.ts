/** Entries by a name; a step makes a new one. */
export type Maps<T> = Readonly<Record<string, T>>;

/** A step that the protocol does not have, and why. */
export interface Broken {
  readonly broken: string;
}

export function broken(why: string): Broken {
  return { broken: why };
}

export function isBroken(outcome: object): outcome is Broken {
  return 'broken' in outcome;
}

export function withEntry<T>(entries: Maps<T>, name: string, entry: T): Maps<T> {
  return { ...entries, [name]: entry };
}

export function withoutEntry<T>(entries: Maps<T>, name: string): Maps<T> {
  const { [name]: _, ...others } = entries;
  return others;
}
