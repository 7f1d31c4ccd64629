import { openBus } from '#libs/bus/open';
import { silentLog } from '#libs/runtime/log';
import { createMetrics } from '#libs/runtime/metrics';
import { systemClock, systemRandom } from '#libs/runtime/system';
import { describeBus } from '#libs/testing/bus/bus-contract';
import { sharedServer } from '../../shared-servers';

const clock = systemClock();

describeBus('amqp', (config) => {
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  return openBus({ busUrl: sharedServer('rabbitmq'), ...config }, around);
});
