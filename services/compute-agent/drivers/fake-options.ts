import { durationOption, intOption, numberOption, stringOption } from '#libs/runtime/config';

/** Settings of the fake driver. */
export const fakeOptions = {
  fakeLatencyMs: durationOption({
    env: 'BERTH_AGENT_FAKE_LATENCY_MS',
    default: 0,
    min: 0,
    max: 3_600_000,
    help: 'Median duration of a fake build.',
  }),
  fakeLatencySpread: numberOption({
    env: 'BERTH_AGENT_FAKE_LATENCY_SPREAD',
    default: 0,
    min: 0,
    max: 3,
    help: 'Spread of the durations of fake builds: sigma of a log-normal distribution, 0 for none.',
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
    help: 'Duration of a full copy of a fake instance in a live migration.',
  }),
  fakeDirtyRate: numberOption({
    env: 'BERTH_AGENT_FAKE_DIRTY_RATE',
    default: 0.1,
    min: 0,
    max: 10,
    help: 'The share of a fake instance that changes during a full copy: with 1 or more a live migration never converges, and fails.',
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
    help: 'Usage on each host that Berth does not manage.',
  }),
  fakeSeed: intOption({
    env: 'BERTH_AGENT_FAKE_SEED',
    default: 0,
    min: 0,
    max: 4_294_967_295,
    help: 'Makes latencies and failures the same in each run; 0 for a random seed.',
  }),
} as const;
