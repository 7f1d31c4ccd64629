import type { Clock } from '#libs/domain/clock';
import type { HostPosition } from '#libs/domain/host-position';

/** Why a host is not held any more: the store does not know the epoch, or another run has a later one. */
export type LossReason = 'epoch_unknown' | 'epoch_superseded';

export function isLoss(reason: string): reason is LossReason {
  return reason === 'epoch_unknown' || reason === 'epoch_superseded';
}

/**
 * Whether this run holds one host: by which epoch, and until when without another accepted report. And the position of
 * what it says of the host.
 *
 * The end of the lease is counted here from when the report was sent, in the store from when it was taken, which is later:
 * this run stops taking orders before another can begin.
 */
export class HostLease {
  #epoch = 0;
  #isHeld = false;
  #untilMs = 0;
  #position = 0;
  #wasCertain = false;
  #isRenewed = false;
  /** By how much the store's clock is ahead of `elapsed`, at least. */
  #storeAheadMs: number | undefined;
  readonly #waiting = new Set<(wasInDoubt: boolean) => void>();
  /** The latest epoch of an order. */
  #orderedEpoch = 0;
  #othersUntilMs = 0;

  constructor(
    readonly host: string,
    private readonly clock: Clock,
    private readonly leaseMs: number,
    private readonly onLost: (lease: HostLease, reason: LossReason) => void,
  ) {}

  /** The epoch by which the host is held, or was last; 0 before the first. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Whether nobody has said that the host is not held: reports are sent. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Whether nobody else can hold the host now: orders are taken. */
  get isCertain(): boolean {
    return this.#isHeld && this.clock.elapsed() < this.#untilMs;
  }

  /** Whether nobody else can have held the host since it was granted by that epoch. */
  isCertainBy(epoch: number): boolean {
    return this.#epoch === epoch && this.isCertain;
  }

  /** True when the store has said that another service host holds the host, and its lease is not over. */
  get isOthers(): boolean {
    return !this.#isHeld && this.clock.elapsed() < this.#othersUntilMs;
  }

  /**
   * Whether orders were taken until the host was lost the last time. If not, some may have waited for long, also for a run
   * that was granted the host since.
   */
  get wasCertain(): boolean {
    return this.#wasCertain;
  }

  /** Another service host holds it, for so long at least. */
  refuse(heldForMs: number): void {
    this.#othersUntilMs = this.clock.elapsed() + heldForMs;
  }

  /** An answer that has just come was given at that time of the store's clock. */
  hearStoreTime(atMs: number): void {
    this.#storeAheadMs = atMs - this.clock.elapsed();
  }

  /** What the store's clock shows at least; undefined before the first answer. */
  storeNowMs(): number | undefined {
    return this.#storeAheadMs === undefined ? undefined : this.clock.elapsed() + this.#storeAheadMs;
  }

  grant(epoch: number, askedAtMs: number): void {
    this.#othersUntilMs = 0;
    this.#epoch = epoch;
    this.#isHeld = true;
    this.#isRenewed = false;
    this.#untilMs = askedAtMs + this.leaseMs;
  }

  /** A report was accepted that was sent then. */
  renew(sentAtMs: number): void {
    const wasInDoubt = !this.isCertain;
    this.#untilMs = Math.max(this.#untilMs, sentAtMs + this.leaseMs);
    this.#isRenewed = true;
    for (const wake of this.#waiting) wake(wasInDoubt);
  }

  /** Calls back with each report that is accepted, and whether the host was not surely held before; the returned function ends that. */
  onRenewed(wake: (wasInDoubt: boolean) => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /**
   * Whether the host is still held, for what an order says: one of a later epoch says that another run has it, and the store
   * is asked. When the store grants the host after that, it went back to before that epoch: the order is for this run.
   */
  isHeldBy(orderedEpoch: number): boolean {
    if (orderedEpoch > Math.max(this.#epoch, this.#orderedEpoch)) {
      this.#orderedEpoch = orderedEpoch;
      this.lose('epoch_superseded');
    }
    return this.#isHeld;
  }

  lose(reason: LossReason): void {
    if (!this.#isHeld) return;
    this.#wasCertain = this.isCertain && (this.#wasCertain || this.#isRenewed);
    this.#isHeld = false;
    this.onLost(this, reason);
  }

  /** Ends holding it because another is to have it; nobody is told. */
  giveUp(): void {
    this.#isHeld = false;
  }

  /** The position of what is said now of the host. */
  nextPosition(): HostPosition {
    this.#position += 1;
    return { epoch: this.#epoch, position: this.#position };
  }
}
