import type { Resources } from './inventory';
import type { GroupDomain, KeptPlace } from './server-group';

/** What one consumer holds, by provider uuid. */
export type Allocations = Readonly<Record<string, Resources>>;

/**
 * Who looks after a consumer: Berth's conductors, or a client of the placement API (Nova, an operator). The store refuses
 * whoever would write another owner's.
 */
export type ConsumerOwner = 'conductor' | 'api';

/** The consumer type of an instance. */
export const INSTANCE_CONSUMER = 'INSTANCE';

/**
 * True when a consumer is what a conductor holds for an instance of a project: neither another client's, nor what a migration or a
 * reservation holds, nor another project's.
 */
export function isClaimOf(
  { projectId }: Pick<Consumer, 'projectId'>,
  consumer: Consumer | undefined,
  consumerType: string = INSTANCE_CONSUMER,
): consumer is Consumer {
  return consumer?.owner === 'conductor' && consumer.consumerType === consumerType && consumer.projectId === projectId;
}

/** A consumer of resources and all that it holds, as in Placement; a consumer without allocations does not exist. */
export interface Consumer {
  readonly uuid: string;
  readonly generation: number;
  readonly projectId: string;
  readonly userId: string;
  /** Upper-case word such as INSTANCE; Placement's `unknown` before microversion 1.38 is undefined here. */
  readonly consumerType: string | undefined;
  readonly owner: ConsumerOwner;
  readonly allocations: Allocations;
  /** Suffixes of request groups to the providers that satisfied them (microversion 1.34); empty when not known. */
  readonly mappings: Readonly<Record<string, readonly string[]>>;
  /** The server group the consumer is a member of, while it holds its allocations. */
  readonly groupId: string | undefined;
  /** The host that its membership counts for. */
  readonly groupHost: string | undefined;
  /** The domain that it counts for, of a group that spreads. */
  readonly groupDomain?: GroupDomain | undefined;
  /** Of a migration: it is no member, and keeps the place for one. */
  readonly groupKept?: KeptPlace | undefined;
  /** Who has a higher one may take its place, unless it is protected; 0 when it does not say. */
  readonly priority?: number | undefined;
  readonly isProtected?: boolean | undefined;
  /**
   * What a move keeps at its source counts for this much of its project's quota: what its instance had there beyond what it
   * gets, so that a move counts once, as the larger of its two sides. All others count for what they hold.
   */
  readonly counted?: Resources | undefined;
  /** The token of the commit that gave the consumer its present allocations: what a release must show. Unique in the store. */
  readonly claimToken: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}
