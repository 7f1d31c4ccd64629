import { durationOption, intOption } from '#libs/runtime/config';

/** Bounds of the API to build. */
export const buildApiOptions = {
  maxBuildCalls: intOption({
    env: 'BERTH_PLACEMENT_MAX_BUILD_CALLS',
    default: 256,
    min: 1,
    max: 10_000,
    unit: 'requests',
    help: 'Requests to /berth/instances, waiting ones included, that are answered at once; further ones get 429.',
  }),
  maxBuildCallsPerProject: intOption({
    env: 'BERTH_PLACEMENT_MAX_BUILD_CALLS_PER_PROJECT',
    default: 32,
    min: 1,
    max: 10_000,
    unit: 'requests',
    help: "One project's share of that limit.",
  }),
  maxEventStreams: intOption({
    env: 'BERTH_PLACEMENT_MAX_EVENT_STREAMS',
    default: 128,
    min: 1,
    max: 10_000,
    unit: 'streams',
    help: 'Streams of /berth/events that are open at once, each with a queue of the broker; further ones get 429.',
  }),
  maxEventStreamsPerProject: intOption({
    env: 'BERTH_PLACEMENT_MAX_EVENT_STREAMS_PER_PROJECT',
    default: 8,
    min: 1,
    max: 10_000,
    unit: 'streams',
    help: "One project's share of that limit.",
  }),
  acceptTimeoutMs: durationOption({
    env: 'BERTH_PLACEMENT_ACCEPT_TIMEOUT_MS',
    default: 5_000,
    min: 10,
    max: 60_000,
    help: "Time limit of a conductor's answer to a build; then it is answered as queued.",
  }),
} as const;
