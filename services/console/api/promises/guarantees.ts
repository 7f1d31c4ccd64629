/** The data of the page of guarantees. */
export interface GuaranteesPage {
  readonly guarantees: readonly GuaranteeRow[];
  /** The number of instances of the address's flavor that still fit, and what breaks first; empty when it names none. */
  readonly headroom: readonly string[];
  /** Names of flavors; empty while no conductor answers. */
  readonly flavors: readonly string[];
}

export interface GuaranteeRow {
  readonly name: string;
  /** As `1 rack`. */
  readonly lose: string;
  /** The hosts and instances that it is about. */
  readonly scope: string;
  readonly policy: string;
  readonly instances: number;
  /** Losses that it is about, and those of them that the rest of the fleet would take in. */
  readonly losses: number;
  readonly kept: number;
  readonly state: string;
  readonly holds: boolean;
  readonly broken: readonly BrokenLoss[];
}

/** A loss that is not taken in. */
export interface BrokenLoss {
  readonly text: string;
  /** An instance without a place; '' for none in particular. */
  readonly instanceUuid: string;
}
