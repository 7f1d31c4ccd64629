import { silentLog } from '../../runtime/log';
import { createMetrics } from '../../runtime/metrics';
import { systemClock, systemRandom } from '../../runtime/system';
import { describeBus } from '../../testing/bus/bus-contract';
import { openBus } from '../open';
import { MemoryBroker } from './broker';

const clock = systemClock();
const broker = new MemoryBroker(clock, silentLog);

describeBus('memory', (config) => {
  const around = { clock, random: systemRandom, log: silentLog, metrics: createMetrics({}) };
  return openBus({ busUrl: 'memory:', ...config }, around, broker);
});
