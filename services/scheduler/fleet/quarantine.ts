import type { Host } from '#libs/domain/host';
import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/port/placement-view';

/** When a host that keeps failing is left out, as operators set it. */
export interface QuarantineOptions {
  /** After so many failures in a row; 0: never. */
  readonly quarantineFailures: number;
  /** The first pause; each further failure doubles it. */
  readonly quarantinePauseMs: number;
  readonly quarantineMaxPauseMs: number;
}

/** A host that fails build after build, or sends report after report that is refused. */
export interface Quarantine {
  /** Until then it gets no instance, by the store's clock. */
  readonly untilMs: number;
  /** It gets one, as a probe: the pause is over, and no other probe is under way. */
  readonly isOpen: boolean;
}

/**
 * The quarantine of a host, undefined when it is trusted. After the pause it gets one build: if that comes to run, the next
 * report of the host ends the quarantine, if not, the pause is twice as long. Two schedulers that decide in the same moment
 * may send one each. (A circuit breaker, half open after its time.)
 */
export function readQuarantine(
  host: Host,
  {
    view,
    tree,
    pendingCount,
  }: { readonly view: PlacementView; readonly tree: readonly Provider[]; readonly pendingCount: number },
  nowMs: number,
  options: QuarantineOptions,
): Quarantine | undefined {
  const untilMs = quarantinedUntilMs(host, options);
  if (untilMs === undefined) return undefined;
  const isProbe = (uuid: string) => (view.consumer(uuid)?.updatedAtMs ?? 0) >= untilMs;
  const isOpen = () => pendingCount === 0 && !tree.some(({ uuid }) => [...view.consumersOn(uuid)].some(isProbe));
  return { untilMs, isOpen: nowMs >= untilMs && isOpen() };
}

/** When the pause of a host ends; undefined when it is trusted. */
export function quarantinedUntilMs(host: Host, options: QuarantineOptions): number | undefined {
  const { quarantineFailures, quarantinePauseMs, quarantineMaxPauseMs } = options;
  const further = host.failuresInARow - quarantineFailures;
  if (quarantineFailures === 0 || further < 0) return undefined;
  return host.lastFailureAtMs + Math.min(quarantineMaxPauseMs, quarantinePauseMs * 2 ** further);
}
