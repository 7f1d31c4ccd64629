import { durationOption, stringOption } from '#libs/runtime/config';
import { addressOptions } from '#libs/runtime/options';
import { traceOptions } from '#libs/runtime/tracing';

const timeoutMs = durationOption({
  env: 'BERTH_CLIENT_TIMEOUT_MS',
  default: 10_000,
  min: 100,
  max: 600_000,
  help: 'Time limit of an answer to a command.',
});

/** Settings of commands that use the bus. */
export const clientOptions = {
  busUrl: addressOptions.busUrl,
  cell: addressOptions.cell,
  timeoutMs,
  ...traceOptions,
} as const;

/** Settings of commands that use the placement API. */
export const placementClientOptions = {
  url: stringOption({
    env: 'BERTH_PLACEMENT_URL',
    default: 'http://127.0.0.1:8778',
    pattern: /^https?:\/\/[^\s?#]+$/,
    range: 'http://... or https://...',
    help: "URL of the placement API for commands: Berth's, or OpenStack Placement itself.",
  }),
  token: stringOption({
    env: 'BERTH_PLACEMENT_TOKEN',
    default: 'admin',
    pattern: /^[\x21-\x7e]+$/,
    range: 'printable characters without blanks',
    help: "The token that commands send to the placement API: Keystone's, one of its file, or, with noauth, user:project.",
    secret: true,
  }),
  timeoutMs,
} as const;

/** Settings of commands that ask a scheduler for Nova. */
export const novaClientOptions = {
  url: stringOption({
    env: 'BERTH_NOVA_SHADOW_URL',
    default: '',
    pattern: /^(https?:\/\/[^\s?#]+)?$/,
    range: 'http://... or https://...',
    help: 'The operations endpoint of a shadow for commands: its BERTH_HTTP_HOST and BERTH_HTTP_PORT.',
  }),
  timeoutMs,
} as const;

/** Settings of commands that manage the broker's users. */
export const brokerOptions = {
  managementUrl: stringOption({
    env: 'BERTH_BROKER_MANAGEMENT_URL',
    default: '',
    pattern: /^(https?:\/\/[^\s?#]+)?$/,
    range: "http://... or https://...; port 15672 of the broker's host when empty",
    help: "RabbitMQ's management API, as the user of the bus URL.",
  }),
} as const;

export const clientSettings = { tables: { client: clientOptions } } as const;
export const brokerSettings = { tables: { client: clientOptions, broker: brokerOptions } } as const;
export const placementSettings = { tables: { placement: placementClientOptions } } as const;
export const novaSettings = { tables: { nova: novaClientOptions } } as const;
