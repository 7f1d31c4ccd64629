import { intOption, numberOption, stringOption } from '#libs/runtime/config';

/** Settings of the fake driver. */
export const fakeOptions = {
  fakeLatencyMs: intOption({
    env: 'BERTH_AGENT_FAKE_LATENCY_MS',
    default: 0,
    min: 0,
    max: 3_600_000,
    unit: 'ms',
    help: 'How long a fake build takes: the median.',
  }),
  fakeLatencySpread: numberOption({
    env: 'BERTH_AGENT_FAKE_LATENCY_SPREAD',
    default: 0,
    min: 0,
    max: 3,
    help: 'How much fake builds differ: sigma of a log-normal distribution, 0 for none.',
  }),
  fakeFailureRate: numberOption({
    env: 'BERTH_AGENT_FAKE_FAILURE_RATE',
    default: 0,
    min: 0,
    max: 1,
    help: 'The share of fake builds that fail.',
  }),
  fakeExternal: stringOption({
    env: 'BERTH_AGENT_FAKE_EXTERNAL',
    default: '',
    range: 'CLASS=amount,... | ...',
    help: 'What something that Berth does not manage uses on each host.',
  }),
  fakeSeed: intOption({
    env: 'BERTH_AGENT_FAKE_SEED',
    default: 0,
    min: 0,
    max: 4_294_967_295,
    help: 'Makes latencies and failures the same in each run; 0 for new ones.',
  }),
} as const;
