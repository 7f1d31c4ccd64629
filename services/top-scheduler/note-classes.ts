import type { CellSummary } from '#libs/domain/cells/cell-summary';
import type { Clock } from '#libs/domain/clock';
import type { Mirror } from '#libs/placement/mirror/mirror';
import type { PlacementStore } from '#libs/placement/port/placement-store';

/** The store in which the top counts projects' usage. */
export interface ClassDeps {
  readonly placement: Pick<PlacementStore, 'commit'>;
  readonly mirror: Pick<Mirror, 'hasResourceClass' | 'apply'>;
  readonly clock: Clock;
}

/** Adds the custom classes of a cell's hosts at the top, so that quotas there count them. Throws `unavailable`. */
export async function noteClasses(
  { classes }: Pick<CellSummary, 'classes'>,
  { placement, mirror, clock }: ClassDeps,
): Promise<void> {
  const names = new Set(classes.flatMap(({ free }) => Object.keys(free)));
  for (const name of names) {
    if (mirror.hasResourceClass(name)) continue;
    const command = { kind: 'create_name', catalogue: 'resource_class', name, atMs: clock.now() } as const;
    const result = await placement.commit(command);
    if (result.kind === 'committed') mirror.apply(result.change);
  }
}
