import type { Host } from '#libs/domain/host';
import type { Provider } from '#libs/domain/provider';
import type { PlacementView } from '#libs/placement/port/placement-view';

/** When a host that keeps failing is left out, as operators set it. */
export interface QuarantineOptions {
  /** After so many refused reports in a row; 0: never, nor for builds. */
  readonly quarantineFailures: number;
  /** After builds of so many projects have failed there in a row, and run elsewhere. */
  readonly quarantineProjects: number;
  /** Largest share of all hosts in quarantine at once, in percent. */
  readonly quarantineMaxPercent: number;
  /** The first pause; each further failure doubles it. */
  readonly quarantinePauseMs: number;
  readonly quarantineMaxPauseMs: number;
}

/** A host that fails the builds of several projects, or sends report after report that is refused. */
export interface Quarantine {
  /** Until then it gets no instance, by the store's clock. */
  readonly untilMs: number;
  /** It gets one, as a probe: the pause is over, and no other probe is under way. */
  readonly isOpen: boolean;
}

/**
 * The quarantine of a suspected host. After the pause it gets one build: if that comes to run, the next
 * report of the host ends the quarantine, if not, the pause is twice as long. Two schedulers that decide in the same moment
 * may send one each. (A circuit breaker, half open after its time.)
 */
export function readQuarantine(
  untilMs: number,
  {
    view,
    tree,
    pendingCount,
  }: { readonly view: PlacementView; readonly tree: readonly Provider[]; readonly pendingCount: number },
  nowMs: number,
): Quarantine {
  const isProbe = (uuid: string) => (view.consumer(uuid)?.updatedAtMs ?? 0) >= untilMs;
  const isOpen = () => pendingCount === 0 && !tree.some(({ uuid }) => [...view.consumersOn(uuid)].some(isProbe));
  return { untilMs, isOpen: nowMs >= untilMs && isOpen() };
}

/** When the pause of a host ends that is suspected by its own failures; undefined for one that is trusted. */
export function suspectedUntilMs(host: Host, options: QuarantineOptions): number | undefined {
  const { quarantineFailures, quarantineProjects, quarantinePauseMs, quarantineMaxPauseMs } = options;
  if (quarantineFailures === 0 || host.failuresInARow === 0) return undefined;
  const projects = host.failedFor?.filter(({ isInRow }) => isInRow).length ?? 0;
  const further = Math.max(host.failuresInARow - projects - quarantineFailures, projects - quarantineProjects);
  if (further < 0) return undefined;
  return host.lastFailureAtMs + Math.min(quarantineMaxPauseMs, quarantinePauseMs * 2 ** further);
}

/** Suspected hosts of a fleet by name, with when their pauses end: those that are left out, and those that are too many. */
export interface Quarantines {
  readonly untilMs: ReadonlyMap<string, number>;
  readonly spared: ReadonlySet<string>;
}

/**
 * The hosts in quarantine: of those that are suspected the ones with most failures, and never more than a share of the fleet, one at
 * least. Whoever makes builds fail on host after host, as some tenants together could, takes no more than that
 * from all others.
 */
export function quarantinesOf(suspects: Iterable<Host>, hostCount: number, options: QuarantineOptions): Quarantines {
  const all = [...suspects].flatMap((host) => {
    const untilMs = suspectedUntilMs(host, options);
    return untilMs === undefined ? [] : [{ host, untilMs }];
  });
  if (all.length === 0) return NO_QUARANTINES;
  const { quarantineMaxPercent: percent } = options;
  const most = percent === 0 ? 0 : Math.max(1, Math.floor((hostCount * percent) / 100));
  const worst = all.toSorted(
    ({ host: a }, { host: b }) =>
      b.failuresInARow - a.failuresInARow || a.lastFailureAtMs - b.lastFailureAtMs || (a.name < b.name ? -1 : 1),
  );
  const left = worst.slice(0, most).map(({ host, untilMs }) => [host.name, untilMs] as const);
  return { untilMs: new Map(left), spared: new Set(worst.slice(most).map(({ host }) => host.name)) };
}

export const NO_QUARANTINES: Quarantines = { untilMs: new Map(), spared: new Set() };
