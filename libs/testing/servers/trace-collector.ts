import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ExportRequest, MockOtlpServer, normalizeTrace } from '@elastic/mockotlpserver';
import { sleep } from '../../domain/clock';
import { environment, systemClock } from '../../runtime/system';
import { findPackedBinary } from './packed-binary';
import { freePort, serverFolder, startServer, type TestServer } from './server-process';

/** A span as received by a collector. */
export interface CollectedSpan {
  /** `service.name` of the process. */
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** '' for the root of a trace. */
  readonly parentSpanId: string;
}

/** A collector of traces: Rotel, which forwards to Elastic's OTLP receiver, which writes to a file. */
export interface TraceCollector {
  /** The value of OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  /** The spans received so far, from the file. */
  spans(): CollectedSpan[];
  /** Waits for spans; after twenty seconds fails with the received ones. */
  has(isThere: (spans: readonly CollectedSpan[]) => boolean): Promise<CollectedSpan[]>;
  close(): Promise<void>;
}

const WAIT_MS = 20_000;
const POLL_MS = 50;
/** A collector of OpenTelemetry's data, written in Rust: https://github.com/streamfold/rotel */
const ROTEL = {
  npmPackage: '@streamfold/rotel-linux-x64@0.0.8-alpha',
  integrity: 'sha512-/M372X6xxlUnKOMHRHCM75f3ajjHhPv4OOZlXlqa6trLrh8MxQkhbk6V6HrgdeYYuNjI5yn58JIH70+1iJirEw==',
  platform: 'linux-x64',
  path: 'bin/rotel-agent',
};

/** Starts one on a free port. @throws BerthError of `findPackedBinary` and `startServer`. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const file = join(serverFolder('traces'), 'requests.jsonl');
  appendFileSync(file, '');
  const server = new MockOtlpServer({
    services: ['grpc'],
    grpcHostname: '127.0.0.1',
    grpcPort: 0,
    logLevel: 'warn',
    onTrace: (request) => appendFileSync(file, `${JSON.stringify(normalizeTrace(request))}\n`),
  });
  await server.start();
  const rotel = await startRotel(server.grpcUrl.host);
  const clock = systemClock();
  const spans = () => {
    const requests = readFileSync(file, 'utf8').split('\n').filter(Boolean);
    return requests.flatMap((line) => spansIn(JSON.parse(line) as ExportRequest));
  };
  return {
    url: rotel.url,
    spans,
    async has(isThere) {
      const untilMs = clock.elapsed() + WAIT_MS;
      while (!isThere(spans())) {
        if (clock.elapsed() > untilMs) throw new Error(`these came: ${JSON.stringify(spans(), undefined, 1)}`);
        await sleep(clock, POLL_MS);
      }
      return spans();
    },
    async close() {
      await rotel.stop();
      await server.close();
    },
  };
}

/** Forwards everything to an OTLP receiver over gRPC. */
async function startRotel(receiver: string): Promise<TestServer> {
  const command = findPackedBinary(ROTEL);
  const [port, grpcPort] = [await freePort(), await freePort()];
  const folder = serverFolder('rotel');
  const args = [
    'start',
    `--otlp-http-endpoint=127.0.0.1:${port}`,
    `--otlp-grpc-endpoint=127.0.0.1:${grpcPort}`,
    '--exporter=otlp',
    `--otlp-exporter-endpoint=http://${receiver}`,
    `--pid-file=${join(folder, 'pid')}`,
    `--log-file=${join(folder, 'log')}`,
  ];
  const probe = { send: 'GET / HTTP/1.0\r\n\r\n', expect: 'HTTP/1.' };
  const url = `http://127.0.0.1:${port}`;
  return startServer({ name: 'Rotel', url, port, folder, command, args, env: environment(), probe });
}

function spansIn({ resourceSpans }: ExportRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = resource.attributes['service.name'] ?? '';
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId = '' }) => ({ service, name, traceId, spanId, parentSpanId })),
    );
  });
}
