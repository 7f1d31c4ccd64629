import { requireLoopback } from '#libs/auth/noauth';
import { openAuth } from '#libs/auth/open';
import { Client } from '#libs/client/client';
import { BerthError } from '#libs/domain/errors';
import { firstUnready, type Running } from '#libs/runtime/service';
import { Drains } from './actions/drains';
import { OperatorActions } from './actions/operator-actions';
import { createApp } from './http/app';
import type { ConsoleDeps } from './http/app-parts';
import { Live } from './live/live';
import { Rehearsals } from './rehearsals/rehearsals';

interface RunningConsole extends Running {
  /** Its address: `http://127.0.0.1:8780`. */
  readonly url: string;
}

/** Time limit of a call to a scheduler or a conductor; nothing is resent: the page asks again. */
const CALL_TIMEOUT_MS = 8_000;

/**
 * Serves the console. It reads the mirror and the instance store, and acts with the messages of any other client; any
 * number may run. The caller closes bus, mirror and stores, after this.
 *
 * @throws BerthError `failed_precondition / cannot_listen`, `failed_precondition / noauth_not_local`, and errors of
 *   `openAuth`.
 */
export async function startConsole(deps: ConsoleDeps): Promise<RunningConsole> {
  const { config, mirror, log, bus } = deps;
  requireLoopback(config.host, config);
  const auth = await openAuth(config, deps);
  const client = new Client(bus, { ...deps, timeoutMs: CALL_TIMEOUT_MS, retryForMs: 0 });
  const actions = await OperatorActions.open(deps);
  const drains = new Drains({ client, clock: deps.clock, maxDrains: config.maxDrains });
  const rehearsals = new Rehearsals({ ...deps, berth: deps.berth, maxRehearsals: config.maxRehearsals });
  const parts = { ...deps, client, drains, actions, rehearsals };
  const live = new Live(parts);
  const app = await createApp({ ...parts, authenticate: auth.authenticate, live });
  const close = async () => {
    app.closeStreams();
    await app.close();
    await drains.close();
    await rehearsals.close();
    await live.close();
    await actions.close();
    await auth.close();
  };
  try {
    const url = await app.listen({ host: config.host, port: config.port });
    log.info({ event: 'console_listening', url, auth: config.auth }, 'console listening');
    return { url, readiness: () => firstUnready(mirror.readiness(), auth.readiness()), close };
  } catch (thrown) {
    await close();
    throw new BerthError(
      'failed_precondition',
      'cannot_listen',
      `cannot listen on ${config.host}:${config.port} (${BerthError.from(thrown).message}); check BERTH_CONSOLE_HOST and BERTH_CONSOLE_PORT`,
      { cause: thrown },
    );
  }
}
