import type { EmbeddedFleet, FleetContext, FleetSettings } from './fleet';

/** `startEmbedded` with all services' code, which is loaded only then. */
export async function startLate(context: FleetContext, settings: FleetSettings): Promise<EmbeddedFleet> {
  const { startEmbedded } = await import('#services/cli/embedded/fleet');
  return startEmbedded(context, settings);
}
