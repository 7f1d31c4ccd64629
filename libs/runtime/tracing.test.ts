import { silentLog } from './log';
import { continueTrace, inSpan, inTrace, isTracing, startTracing, traceparent } from './tracing';

jest.mock('#libs/runtime/open-telemetry', () => {
  throw new Error('OpenTelemetry was loaded');
});

const FACTS = { name: 'work', kind: 'internal' } as const;
const WHO = { service: 'berth-test', instance: 'one', log: silentLog };

it('does the work alone while it is off, and loads nothing of OpenTelemetry', async () => {
  const tracing = await startTracing({ traces: 'off' }, WHO);
  const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const work = async () => ({ isTracing: isTracing(), traceparent: traceparent() });
  const seen = [await inTrace(FACTS, work), await inSpan(FACTS, work), await continueTrace(parent, FACTS, work)];
  await tracing.close();
  expect(seen).toEqual(seen.map(() => ({ isTracing: false, traceparent: undefined })));
  await expect(startTracing({ traces: 'otlp' }, WHO)).rejects.toThrow('OpenTelemetry was loaded');
});
