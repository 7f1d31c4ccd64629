import { checkSettings } from './check-settings';

const RETIRED = [
  { env: 'BERTH_SCHEDULER_OLD_NAME', since: '0.2.0', instead: 'set BERTH_SCHEDULER_NEW_NAME' },
  { env: 'BERTH_SCHEDULER_FILTERS', value: 'core', since: '0.2.0', instead: 'use capacity' },
];

it('succeeds with what this release knows', () => {
  const env = { BERTH_BUS_URL: 'amqp://broker', BERTH_LOG_LEVEL: 'debug', HOME: '/root' };
  expect(checkSettings(env)).toEqual({ check: 'Settings', result: 'success', details: [] });
});

it.each([
  [
    'an unknown option',
    { BERTH_BUS_ULR: 'x' },
    ['BERTH_BUS_ULR is not a setting of Berth; did you mean BERTH_BUS_URL?'],
  ],
  [
    'an unknown filter',
    { BERTH_SCHEDULER_FILTERS: 'compute,nonsense,more' },
    [
      expect.stringMatching(/^BERTH_SCHEDULER_FILTERS does not know 'nonsense'; known: /),
      expect.stringMatching(/^BERTH_SCHEDULER_FILTERS does not know 'more'; known: /),
    ],
  ],
  ['a value out of range', { BERTH_LOG_LEVEL: 'loud' }, [expect.stringMatching(/^BERTH_LOG_LEVEL must be one of/)]],
])('fails with %s, by name', (_, env, details) => {
  expect(checkSettings(env)).toEqual({ check: 'Settings', result: 'failure', details });
});

it('names what replaces an option or a filter that is gone', () => {
  const env = { BERTH_SCHEDULER_OLD_NAME: '1', BERTH_SCHEDULER_FILTERS: 'compute, core' };
  const { details } = checkSettings(env, RETIRED);
  expect(details.slice(0, 2)).toEqual([
    'BERTH_SCHEDULER_OLD_NAME is no more since 0.2.0: set BERTH_SCHEDULER_NEW_NAME',
    "'core' of BERTH_SCHEDULER_FILTERS is no more since 0.2.0: use capacity",
  ]);
  // Said once.
  expect(details.filter((detail) => detail.includes('OLD_NAME'))).toHaveLength(1);
});
