import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ExportRequest, MockOtlpServer, normalizeTrace } from '@elastic/mockotlpserver';
import { sleep } from '../../domain/clock';
import { systemClock } from '../../runtime/system';
import { serverFolder } from './server-process';

/** A span as a collector gets it. */
export interface CollectedSpan {
  /** `service.name` of the process. */
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** '' for the first of a trace. */
  readonly parentSpanId: string;
}

/** A collector of traces: Elastic's receiver of OTLP, and what it receives in a file. */
export interface TraceCollector {
  /** What OTEL_EXPORTER_OTLP_ENDPOINT is. */
  readonly url: string;
  /** What has come so far, from the file. */
  spans(): CollectedSpan[];
  /** Waits for spans; fails with those that came after twenty seconds. */
  has(isThere: (spans: readonly CollectedSpan[]) => boolean): Promise<CollectedSpan[]>;
  close(): Promise<void>;
}

const WAIT_MS = 20_000;
const POLL_MS = 50;

/** Starts one on a free port. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const file = join(serverFolder('traces'), 'requests.jsonl');
  appendFileSync(file, '');
  const server = new MockOtlpServer({
    services: ['http'],
    httpHostname: '127.0.0.1',
    httpPort: 0,
    logLevel: 'warn',
    onTrace: (request) => appendFileSync(file, `${JSON.stringify(normalizeTrace(request))}\n`),
  });
  await server.start();
  const clock = systemClock();
  const spans = () => {
    const requests = readFileSync(file, 'utf8').split('\n').filter(Boolean);
    return requests.flatMap((line) => spansIn(JSON.parse(line) as ExportRequest));
  };
  return {
    url: server.httpUrl.href,
    spans,
    async has(isThere) {
      const untilMs = clock.elapsed() + WAIT_MS;
      while (!isThere(spans())) {
        if (clock.elapsed() > untilMs) throw new Error(`these came: ${JSON.stringify(spans(), undefined, 1)}`);
        await sleep(clock, POLL_MS);
      }
      return spans();
    },
    close: () => server.close(),
  };
}

function spansIn({ resourceSpans }: ExportRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = resource.attributes['service.name'] ?? '';
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId = '' }) => ({ service, name, traceId, spanId, parentSpanId })),
    );
  });
}
