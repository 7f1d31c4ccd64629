import type { EmbeddedFleet, FleetContext, FleetSettings } from './fleet';
import type { EmbeddedTop, startEmbeddedTop as StartTop } from './top';

/** `startEmbedded`, which loads the code of all services only then. */
export async function startLate(context: FleetContext, settings: FleetSettings): Promise<EmbeddedFleet> {
  const { startEmbedded } = await import('#services/cli/embedded/fleet');
  return startEmbedded(context, settings);
}

/** `startEmbeddedTop`, likewise. */
export async function startTopLate(...args: Parameters<typeof StartTop>): Promise<EmbeddedTop> {
  const { startEmbeddedTop } = await import('#services/cli/embedded/top');
  return startEmbeddedTop(...args);
}
