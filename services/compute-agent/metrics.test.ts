import { createMetrics } from '#libs/runtime/metrics';
import { fakeClock } from '#libs/testing/fake-clock';
import { agentMetrics } from './metrics';

it('says for how long the controller has been silent that is silent longest, of those that do not serve', async () => {
  const clock = fakeClock();
  const metrics = createMetrics({});
  const counters = agentMetrics(metrics, clock);
  const silence = async () => /^berth_agent_controller_silence_seconds (\S+)$/m.exec(await metrics.expose())?.[1];
  expect(await silence()).toBe('0');
  const nowMs = clock.now();
  counters.watchSilence(() => [nowMs, 0, nowMs - 30_000]);
  await clock.advance(5_000);
  expect(await silence()).toBe('35');
});
