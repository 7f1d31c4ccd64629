/** An amount of one class that must come from one provider. `classIndex` is the class's place in {@link Plan.classes}. */
export interface Demand {
  readonly resourceClass: string;
  readonly classIndex: number;
  readonly amount: number;
}
