import { runLine as berth } from '../../testing/run-line';
import { SCENARIOS } from './registry';

// Some at once: they wait for timers of agents and conductors most of the time.
it.concurrent.each(SCENARIOS)('tells the story of $name, in which every invariant holds', async ({ name }) => {
  const { code, out } = await berth(`demo --scenario ${name} --json`);
  expect(JSON.parse(out.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ scenario: name, broken: [] });
  expect(out).toContain('at the end');
  expect(code).toBe(0);
});
