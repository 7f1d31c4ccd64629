/** What something had in use over time, oldest first; null where there was none. */
export interface HistoryOf {
  readonly stepMs: number;
  /** When the newest point was taken. */
  readonly lastMs: number;
  readonly classes: Readonly<
    Record<string, { readonly used: readonly (number | null)[]; readonly capacity: readonly (number | null)[] }>
  >;
}
