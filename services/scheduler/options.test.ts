import { readConfig } from '#libs/runtime/config';
import { schedulerOptions } from './options';
import { selectSettings } from './settings';

const AGGREGATE = 'aaaaaaaa-0000-4000-8000-000000000001';

it('reads facts of aggregates, several values of one name included', () => {
  const env = { BERTH_SCHEDULER_AGGREGATE_FACTS: `${AGGREGATE}.ssd=true, ${AGGREGATE}.rack=r1,${AGGREGATE}.rack=r2` };
  const { aggregateFacts } = selectSettings(readConfig(schedulerOptions, env));
  expect(aggregateFacts.get(AGGREGATE)?.get('ssd')).toEqual(new Set(['true']));
  expect(aggregateFacts.get(AGGREGATE)?.get('rack')).toEqual(new Set(['r1', 'r2']));
});

it('refuses facts of no aggregate and filters that nobody knows', () => {
  const env = { BERTH_SCHEDULER_AGGREGATE_FACTS: 'ssd=true', BERTH_SCHEDULER_FILTERS: 'compute,magic' };
  expect(() => readConfig(schedulerOptions, env)).toThrow(
    /AGGREGATE_FACTS needs .*\n.*FILTERS does not know 'magic'|FILTERS/,
  );
});
