import type { Resources } from './inventory';
import type { GroupDomain, KeptPlace } from './server-group';

/** The allocations of one consumer, by provider uuid. */
export type Allocations = Readonly<Record<string, Resources>>;

/**
 * The owner of a consumer: Berth's conductors, or a client of the placement API (Nova, an operator). The store refuses
 * writes of anyone else.
 */
export type ConsumerOwner = 'conductor' | 'api';

/** The consumer type of an instance. */
export const INSTANCE_CONSUMER = 'INSTANCE';

/**
 * True when a consumer is a conductor's claim for an instance of the project. False for consumers of API clients,
 * migrations, reservations and other projects.
 */
export function isClaimOf(
  { projectId }: Pick<Consumer, 'projectId'>,
  consumer: Consumer | undefined,
  consumerType: string = INSTANCE_CONSUMER,
): consumer is Consumer {
  return consumer?.owner === 'conductor' && consumer.consumerType === consumerType && consumer.projectId === projectId;
}

/** A consumer with all its allocations, as in Placement; a consumer without allocations does not exist. */
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
  /** The domain that it counts for, in a group that spreads. */
  readonly groupDomain?: GroupDomain | undefined;
  /** Set on a migration's consumer: it is no member, and keeps the place of one. */
  readonly groupKept?: KeptPlace | undefined;
  /** Consumers of a higher priority may preempt it unless it is protected; 0 when undefined. */
  readonly priority?: number | undefined;
  readonly isProtected?: boolean | undefined;
  /**
   * The amounts that a move's source side adds to the project's quota: its old resources beyond the new ones, so that a
   * move counts once, as the larger of its two sides. All other consumers count for their allocations.
   */
  readonly counted?: Resources | undefined;
  /** The name of the flavor that it was claimed by, for usage; undefined when it had none, or nobody said. */
  readonly flavor?: string | undefined;
  /** The reservation that it was claimed in. */
  readonly reservation?: string | undefined;
  /** The time by which its time limit has ended it, as its claim said; undefined: it lasts, or was claimed after that time. */
  readonly endsAtMs?: number | undefined;
  /** Since when it holds these amounts as this user and by this flavor; undefined: since `createdAtMs`. */
  readonly heldSinceMs?: number | undefined;
  /**
   * Identifies the commit that gave the consumer its present allocations; a release must name it. Unique in the store.
   */
  readonly claimToken: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** The time since when a consumer holds what it does, in milliseconds. */
export function heldSince({ heldSinceMs, createdAtMs }: Pick<Consumer, 'heldSinceMs' | 'createdAtMs'>): number {
  return heldSinceMs ?? createdAtMs;
}
