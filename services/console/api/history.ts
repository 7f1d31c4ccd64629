/** Usage over time, oldest first; null for missing points. */
export interface HistoryOf {
  readonly stepMs: number;
  /** The time of the newest point. */
  readonly lastMs: number;
  readonly classes: Readonly<
    Record<string, { readonly used: readonly (number | null)[]; readonly capacity: readonly (number | null)[] }>
  >;
}
