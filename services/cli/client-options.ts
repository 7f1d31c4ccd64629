import { intOption } from '#libs/runtime/config';
import { addressOptions } from '#libs/runtime/options';

/** What commands that ask a running Berth need: they talk to it over the bus alone. */
export const clientOptions = {
  busUrl: addressOptions.busUrl,
  timeoutMs: intOption({
    env: 'BERTH_CLIENT_TIMEOUT_MS',
    default: 10_000,
    min: 100,
    max: 600_000,
    unit: 'ms',
    help: 'How long a command waits for an answer.',
  }),
} as const;

/** As a command's settings. */
export const clientSettings = { tables: { client: clientOptions } } as const;
