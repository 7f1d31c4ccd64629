import { untilInterrupted } from '../interruptible';
import type { EmbeddedFleet, FleetContext, FleetSettings } from './fleet';
import type { EmbeddedTop, startEmbeddedTop as StartTop } from './top';

/**
 * `startEmbedded`, which loads the code of all services only then. Ctrl-C ends the wait at once; a fleet that is up later
 * closes.
 *
 * @throws BerthError as `startEmbedded`; `aborted / interrupted`.
 */
export async function startLate(context: FleetContext, settings: FleetSettings): Promise<EmbeddedFleet> {
  const { startEmbedded } = await import('#services/cli/embedded/fleet');
  const starting = startEmbedded(context, settings);
  try {
    return await untilInterrupted(context, starting);
  } catch (thrown) {
    void starting.then(
      (fleet) => fleet.close(),
      () => {},
    );
    throw thrown;
  }
}

/** `startEmbeddedTop`, likewise. */
export async function startTopLate(...args: Parameters<typeof StartTop>): Promise<EmbeddedTop> {
  const { startEmbeddedTop } = await import('#services/cli/embedded/top');
  return startEmbeddedTop(...args);
}
