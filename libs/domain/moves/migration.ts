import type { Consumer } from '../consumer';
import type { HostPosition } from '../host-position';
import type { MissedReport } from '../instance';
import { turnedUuid } from '../names';
import { RESERVATION_CONSUMER, reservationUuidOf } from '../queueing/place-lease';

/** How an instance is moved, in Nova's words. */
export type MigrationKind = 'resize' | 'migrate' | 'live_migrate';

/**
 * How far a move has come:
 *
 * - `selecting`     a scheduler is asked for its destination; nothing is changed yet
 * - `claimed`       both sides are claimed, with those of other moves, and it waits for its turn: it runs at its source
 * - `handing_over`  both sides are claimed, and the source stops it
 * - `arriving`      its destination builds it from what the source handed over
 * - `arrived`       it runs there; the source keeps what it had
 * - `confirming`    what the source keeps is to be destroyed
 * - `leaving`       back: what its destination has is to be destroyed
 * - `returning`     back: the source is to run it again, by its old claim
 */
export type MigrationPhase = (typeof MIGRATION_PHASES)[number];

export const MIGRATION_PHASES = [
  'selecting',
  'claimed',
  'handing_over',
  'arriving',
  'arrived',
  'confirming',
  'leaving',
  'returning',
] as const;

/** Where a moved instance is, or was, and by what. Bytes are in base64. */
export interface MigrationEnd {
  readonly host: string;
  /** The number of the attempt that built it there; 0 for one that is yet to come. */
  readonly attempt: number;
  readonly allocationRequest: string;
  readonly requestSpec: string;
}

/**
 * A move of an instance. Its uuid is a consumer, which holds what the instance held at its source while the instance itself holds
 * what it has at its destination (Nova's migration-based allocations): both claims are made in one commit, and have one token.
 */
export interface Migration {
  readonly uuid: string;
  readonly kind: MigrationKind;
  readonly phase: MigrationPhase;
  readonly source: MigrationEnd & {
    /** Of the claim there before the move. */
    readonly claimToken: number;
    readonly activeAt: HostPosition | undefined;
  };
  /** Its request is what is asked for; its host is '' until one is claimed. */
  readonly destination: MigrationEnd;
  /** The host that was asked for; '' for any. */
  readonly targetHost: string;
  /** What it was claimed for together with others; undefined for a move of its own, and without a name. */
  readonly plan?: string | undefined;
  /** Of both claims; undefined before they are made. */
  readonly claimToken: number | undefined;
  /** What the source's driver handed over; '' before. */
  readonly handover: string;
  /** The report of its source that did not have what it is to keep, if the last one did not: the next one settles it. */
  readonly missingIn?: MissedReport | undefined;
  /** Going back, until its source has said that it has it still: so long its destination keeps it. */
  readonly awaitsSource?: true | undefined;
  /** How long after its arrival it is confirmed without being asked; 0 for never. */
  readonly confirmAfterMs: number;
  /** When that is; undefined for never, and before it has arrived. */
  readonly confirmAtMs: number | undefined;
}

/** Bytes as a migration keeps them. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/** What a migration keeps as text. */
export function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64'));
}

/** Of the consumers that hold a migration's claim (Placement's word for Nova's). */
export const MIGRATION_CONSUMER = 'MIGRATION';

/** The instance that a consumer is, or is the migration of, or holds alternates for. */
export function instanceOfConsumer({ uuid, consumerType }: Pick<Consumer, 'uuid' | 'consumerType'>): string {
  if (consumerType === RESERVATION_CONSUMER) return reservationUuidOf(uuid);
  return consumerType === MIGRATION_CONSUMER ? migrationUuidOf(uuid) : uuid;
}

/**
 * The migration of an instance, as a consumer, and the instance of a migration: the one uuid is the other with the highest bit
 * of its version turned. So whoever sees a host's report, or a claim, knows which instance it is about without asking anybody.
 * No client can choose it (`isDerivedUuid`).
 */
export function migrationUuidOf(instanceUuid: string): string {
  return turnedUuid(instanceUuid, VERSION_AT, 8);
}

/** Where the version stands in a uuid's text. */
const VERSION_AT = 14;
