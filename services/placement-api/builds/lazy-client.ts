import { openBus } from '#libs/bus/open';
import type { BusConfig } from '#libs/bus/options';
import { Client } from '#libs/client/client';
import { BerthError } from '#libs/domain/errors';
import type { RuntimeDeps } from '#libs/runtime/service';

/** A client of Berth by which the API acts. */
export interface ClientSource {
  /** The fleet's claim keys, which name what carries an idempotency key: the first names, any is recognised. */
  readonly nameKeys: readonly string[];
  /** @throws BerthError `unavailable`: there is no bus, or the broker is away. */
  get(): Promise<Client>;
  close(): Promise<void>;
}

/** An HTTP client asks again by itself; until then it holds a connection. */
export const CALLS = { timeoutMs: 8_000, retryForMs: 2_000 };
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * Connects to the bus with the first request that needs it: the API of Placement works without a broker, and starts
 * while it is away.
 */
export function lazyClient(
  config: BusConfig & { readonly busUrl: string },
  claimKey: string,
  deps: RuntimeDeps,
): ClientSource {
  let opened: Promise<Client> | undefined;
  let isClosed = false;
  return {
    nameKeys: claimKey.split(','),
    async get() {
      if (config.busUrl === 'memory:' || isClosed) throw noBus();
      opened ??= openBus({ ...config, connectTimeoutMs: CONNECT_TIMEOUT_MS }, deps)
        .then((bus) => new Client(bus, { ...deps, ...CALLS }))
        .catch((thrown: unknown) => {
          opened = undefined;
          throw thrown;
        });
      return opened;
    },
    async close() {
      isClosed = true;
      await opened?.then((client) => client.close()).catch(() => {});
    },
  };
}

/** A source of no client. */
export const NO_BUILDS: ClientSource = {
  nameKeys: [''],
  async get() {
    throw noBus();
  },
  async close() {},
};

function noBus(): BerthError {
  return new BerthError('unavailable', 'no_bus', 'this API has no bus to build by: set its BERTH_BUS_URL');
}
