import type { Consumer } from '../consumer';
import type { HostPosition, MissedReport } from '../host-position';
import { turnedUuid } from '../names';
import { RESERVATION_CONSUMER, reservationUuidOf } from '../queueing/place-lease';

/** The kind of a move, in Nova's words. */
export type MigrationKind = 'resize' | 'migrate' | 'live_migrate';

/**
 * The phases of a move:
 *
 * - `selecting`     a scheduler selects the destination; nothing has changed yet
 * - `claimed`       both sides are claimed, together with other moves, and it waits for its turn; it runs at its source
 * - `handing_over`  both sides are claimed, and the source stops it
 * - `arriving`      the destination builds it from the source's handover
 * - `arrived`       it runs at the destination; the source keeps its copy
 * - `confirming`    the source's copy is to be destroyed
 * - `leaving`       revert: the destination's copy is to be destroyed
 * - `returning`     revert: the source is to run it again, by its old claim
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

/** The source or destination of a move. Bytes are in base64. */
export interface MigrationEnd {
  readonly host: string;
  /** The number of the attempt that built it there; 0 before that attempt. */
  readonly attempt: number;
  readonly allocationRequest: string;
  readonly requestSpec: string;
}

/**
 * A move of an instance. Its uuid is a consumer that holds the source's allocations while the instance holds those at
 * the destination (Nova's migration-based allocations). Both claims are made in one commit and share a token.
 */
export interface Migration {
  readonly uuid: string;
  readonly kind: MigrationKind;
  readonly phase: MigrationPhase;
  readonly source: MigrationEnd & {
    /** Token of the claim there before the move. */
    readonly claimToken: number;
    readonly activeAt: HostPosition | undefined;
  };
  /** Its request is the requested spec; its host is '' until one is claimed. */
  readonly destination: MigrationEnd;
  /** The requested host; '' for any. */
  readonly targetHost: string;
  /** Name of the plan that it was claimed with; undefined for a single move, and for a plan without a name. */
  readonly plan?: string | undefined;
  /** Token of both claims; undefined before they are made. */
  readonly claimToken: number | undefined;
  /** The handover of the source's driver; '' before. */
  readonly handover: string;
  /** The source's last report, if it lacked the kept copy; the next report settles it. */
  readonly missingIn?: MissedReport | undefined;
  /** Set on a revert until the source has confirmed its copy; until then the destination keeps its own. */
  readonly awaitsSource?: true | undefined;
  /** Delay after arrival until it is confirmed automatically; 0 for never. */
  readonly confirmAfterMs: number;
  /** When that is; undefined for never, and before arrival. */
  readonly confirmAtMs: number | undefined;
}

/** Bytes in a migration's text form. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/** The inverse of `textOf`. */
export function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'base64'));
}

/** Consumer type of a migration (Placement's word for Nova's). */
export const MIGRATION_CONSUMER = 'MIGRATION';

/** The instance that a consumer belongs to: itself, the one it migrates, or the one it holds alternates for. */
export function instanceOfConsumer({ uuid, consumerType }: Pick<Consumer, 'uuid' | 'consumerType'>): string {
  if (consumerType === RESERVATION_CONSUMER) return reservationUuidOf(uuid);
  return consumerType === MIGRATION_CONSUMER ? migrationUuidOf(uuid) : uuid;
}

/**
 * The migration's consumer uuid of an instance, and the reverse: the two differ in the highest bit of the version. So a
 * report or a claim shows which instance it is about without a lookup. No client can choose such a uuid
 * (`isDerivedUuid`).
 */
export function migrationUuidOf(instanceUuid: string): string {
  return turnedUuid(instanceUuid, VERSION_AT, 8);
}

/** Position of the version in a uuid's text. */
const VERSION_AT = 14;

/** Faults of a live migration that a cold one would share: no host can take the instance. */
export const NOWHERE_FAULTS: readonly string[] = ['no_valid_host', 'quota_exceeded', 'moves_unsupported'];
