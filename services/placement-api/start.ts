import { requireLoopback } from '#libs/auth/noauth';
import { openAuth } from '#libs/auth/open';
import { BerthError } from '#libs/domain/errors';
import { firstUnready, type Running } from '#libs/runtime/service';
import { createApp } from './http/app';
import { Placement, type PlacementApiDeps } from './placement';
import { makePolicy } from './policy/policy';

export interface RunningApi extends Running {
  /** Its address: `http://127.0.0.1:8778`. */
  readonly url: string;
}

/**
 * Serves the placement API. Any number of processes may serve one cell: reads see writes through any of them, writes
 * are atomic in the store. The caller closes store and mirror, after this.
 *
 * @throws BerthError `failed_precondition / cannot_listen`, `failed_precondition / noauth_not_local`, and errors of
 *   `openAuth`.
 */
export async function startPlacementApi(deps: PlacementApiDeps): Promise<RunningApi> {
  const { config, mirror, log } = deps;
  requireLoopback(config.host, config);
  const auth = await openAuth(config, deps);
  const placement = new Placement(deps);
  const parts = { ...deps, placement, policy: makePolicy(config), authenticate: auth.authenticate };
  const { app, endStreams } = await createApp(parts);
  try {
    const url = await app.listen({ host: config.host, port: config.port });
    log.info({ event: 'api_listening', url, auth: config.auth }, 'placement API listening');
    return {
      url,
      readiness: () => firstUnready(mirror.readiness(), auth.readiness()),
      async close() {
        endStreams();
        await app.close();
        await deps.builds.close();
        placement.close();
        await auth.close();
      },
    };
  } catch (thrown) {
    await auth.close();
    throw new BerthError(
      'failed_precondition',
      'cannot_listen',
      `cannot listen on ${config.host}:${config.port} (${BerthError.from(thrown).message}); check BERTH_PLACEMENT_HOST and BERTH_PLACEMENT_PORT`,
      { cause: thrown },
    );
  }
}
