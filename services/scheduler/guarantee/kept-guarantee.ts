import type { Guarantee } from '#libs/domain/grouping/guarantee';
import type { Resources } from '#libs/domain/inventory';
import type { HostState } from '../fleet/host-state';
import type { HostRules } from './host-rules';
import type { GuaranteedInstance, InstanceItem } from './instance-item';
import type { Journal } from './journal';
import type { Loss } from './losses';
import { type Effort, Witness } from './witness';

/** One loss of a guarantee, with its witness. */
export interface KeptLoss {
  readonly loss: Loss;
  readonly witness: Witness<InstanceItem, HostState>;
}

/** The least that would give an item a place: amounts that the nearest host lacks. */
export interface Nearest {
  readonly host: string;
  readonly lacks: Resources;
}

/** A loss that claims would leave with one instance more without a place. */
export interface Breach {
  readonly guarantee: Guarantee;
  readonly kept: KeptLoss;
  /** The host whose claim it was. */
  readonly hostIndex: number;
  /** An instance without a place, and the host that lacks least of what it needs. */
  readonly item: InstanceItem;
  readonly nearest: Nearest | undefined;
  /** False: the search for a place ended before it was certain. */
  readonly isCertain: boolean;
}

/** A guarantee with a witness for each of its losses; none where there are too many to keep. */
export class KeptGuarantee {
  readonly losses: readonly KeptLoss[];
  readonly #byHost = new Map<number, KeptLoss[]>();

  constructor(
    readonly guarantee: Guarantee,
    losses: readonly Loss[] | undefined,
    { rules, effort, journal }: { readonly rules: HostRules; readonly effort: Effort; readonly journal: Journal },
  ) {
    this.losses = (losses ?? []).map((loss) => ({
      loss,
      witness: new Witness((host: number) => loss.hosts.has(host), rules, effort, journal),
    }));
    this.hasTooManyLosses = losses === undefined;
    for (const kept of this.losses) {
      for (const host of kept.loss.hosts) {
        const known = this.#byHost.get(host);
        if (known) known.push(kept);
        else this.#byHost.set(host, [kept]);
      }
    }
  }

  readonly hasTooManyLosses: boolean;

  /** Losses that take a host. */
  takingHost(host: number): readonly KeptLoss[] {
    return this.#byHost.get(host) ?? NONE;
  }

  /** True for the instances that it is about. */
  covers({ priority }: GuaranteedInstance): boolean {
    return priority >= this.guarantee.minPriority;
  }
}

const NONE: readonly KeptLoss[] = [];
