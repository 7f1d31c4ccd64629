import { durationOption, intOption, numberOption, stringOption } from '#libs/runtime/config';

/** Settings of the fake driver. */
export const fakeOptions = {
  fakeLatencyMs: durationOption({
    env: 'BERTH_AGENT_FAKE_LATENCY_MS',
    default: 0,
    min: 0,
    max: 3_600_000,
    help: 'The median of how long a fake build takes.',
  }),
  fakeLatencySpread: numberOption({
    env: 'BERTH_AGENT_FAKE_LATENCY_SPREAD',
    default: 0,
    min: 0,
    max: 3,
    help: 'How much the latencies of fake builds differ: sigma of a log-normal distribution, 0 for not at all.',
  }),
  fakeFailureRate: numberOption({
    env: 'BERTH_AGENT_FAKE_FAILURE_RATE',
    default: 0,
    min: 0,
    max: 1,
    help: 'The share of fake builds that fail.',
  }),
  fakeCopyMs: durationOption({
    env: 'BERTH_AGENT_FAKE_COPY_MS',
    default: 0,
    min: 0,
    max: 3_600_000,
    help: 'How long it takes to copy all of a fake instance that is migrated live.',
  }),
  fakeDirtyRate: numberOption({
    env: 'BERTH_AGENT_FAKE_DIRTY_RATE',
    default: 0.1,
    min: 0,
    max: 10,
    help: 'The share of a fake instance that changes while all of it is copied: with 1 or more a live migration never ends, and fails.',
  }),
  fakeMoveFailureRate: numberOption({
    env: 'BERTH_AGENT_FAKE_MOVE_FAILURE_RATE',
    default: 0,
    min: 0,
    max: 1,
    help: 'The share of moves that fail at their source, which keeps the instance.',
  }),
  fakeExternal: stringOption({
    env: 'BERTH_AGENT_FAKE_EXTERNAL',
    default: '',
    range: 'CLASS=amount,... | ...',
    help: 'What workloads that Berth does not manage use on each host.',
  }),
  fakeSeed: intOption({
    env: 'BERTH_AGENT_FAKE_SEED',
    default: 0,
    min: 0,
    max: 4_294_967_295,
    help: 'Makes latencies and failures the same in each run; 0 for a random seed.',
  }),
} as const;
