import type { Clock } from '#libs/domain/clock';
import type { HostPosition } from '#libs/domain/host-position';
import { type Fence, notSurelyHeld } from '../drivers/fenced';

/** Why a host was lost: the store does not know the epoch, or another run has a later one. */
export type LossReason = 'epoch_unknown' | 'epoch_superseded';

export function isLoss(reason: string): reason is LossReason {
  return reason === 'epoch_unknown' || reason === 'epoch_superseded';
}

/** True for an order of an epoch before the host's present one. 0 is unknown to its sender. */
export function isOfEarlierEpoch(ordered: number, present: number): boolean {
  return ordered !== 0 && ordered < present;
}

/**
 * This run's lease of one host: its epoch, and its end without another accepted report. It also numbers the agent's
 * statements about the host.
 *
 * The lease's end counts here from the sending of a report, and in the store from its later receipt: this run stops
 * taking orders before another can begin.
 */
export class HostLease {
  #epoch = 0;
  #isHeld = false;
  #untilMs = 0;
  #position = 0;
  #wasCertain = false;
  #isRenewed = false;
  /** A lower bound of the store clock's lead over `elapsed`. */
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

  /** The present or last epoch; 0 before the first. */
  get epoch(): number {
    return this.#epoch;
  }

  /** True until the store says that the host is lost: reports are sent. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** True while nobody else can hold the host: orders are taken. */
  get isCertain(): boolean {
    return this.#isHeld && this.clock.elapsed() < this.#untilMs;
  }

  /** Time until its end without another renewal; 0 or less afterwards. */
  get leftMs(): number {
    return this.#untilMs - this.clock.elapsed();
  }

  /** True when nobody else can have held the host since that epoch was granted. */
  isCertainBy(epoch: number): boolean {
    return this.#epoch === epoch && this.isCertain;
  }

  /** Throws once another run may have held the host since now. */
  fence(): Fence {
    const epoch = this.#epoch;
    return () => {
      if (!this.isCertainBy(epoch)) throw notSurelyHeld(this.host, epoch);
    };
  }

  /** True when the store has said that another service host holds the host, and that lease has not expired. */
  get isOthers(): boolean {
    return !this.#isHeld && this.clock.elapsed() < this.#othersUntilMs;
  }

  /**
   * True when orders were taken until the last loss of the host. If false, some orders may have waited for long, also
   * for a run that was granted the host since.
   */
  get wasCertain(): boolean {
    return this.#wasCertain;
  }

  /** Another service host holds it, for at least this long. */
  refuse(heldForMs: number): void {
    this.#othersUntilMs = this.clock.elapsed() + heldForMs;
  }

  /** Records the store's time in a new answer. */
  hearStoreTime(atMs: number): void {
    this.#storeAheadMs = atMs - this.clock.elapsed();
  }

  /** A lower bound of the store's clock; undefined before the host is granted by a scheduler that says it. */
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

  /** Extends the lease after an accepted report, or a renewal, that was sent then. */
  renew(sentAtMs: number): void {
    const wasInDoubt = !this.isCertain;
    this.#untilMs = Math.max(this.#untilMs, sentAtMs + this.leaseMs);
    this.#isRenewed = true;
    for (const wake of this.#waiting) wake(wasInDoubt);
  }

  /** Calls back for each accepted report, with true if the host was in doubt before; returns the unsubscription. */
  onRenewed(wake: (wasInDoubt: boolean) => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /**
   * True while the host is held, considering an order's epoch: a later one means that another run has the host, and the
   * store is asked. If the store grants the host after that, it went back to a time before that epoch: the order is for
   * this run.
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

  /** Ends the lease for another run, without telling the store. */
  giveUp(): void {
    this.#isHeld = false;
  }

  /** The position of the next statement about the host. */
  nextPosition(): HostPosition {
    this.#position += 1;
    return { epoch: this.#epoch, position: this.#position };
  }
}
