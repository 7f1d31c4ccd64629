import { appendFileSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
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
  /** Of OpenTelemetry: 2 is ERROR. */
  readonly status: number;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A collector of traces: OTLP over HTTP, as JSON, into a file. */
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
  const file = join(serverFolder('traces'), 'spans.jsonl');
  appendFileSync(file, '');
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      for (const span of spansIn(body as ExportRequest)) appendFileSync(file, `${JSON.stringify(span)}\n`);
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await listening(server);
  const clock = systemClock();
  const spans = () =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as CollectedSpan);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    async has(isThere) {
      const untilMs = clock.elapsed() + WAIT_MS;
      while (!isThere(spans())) {
        if (clock.elapsed() > untilMs) throw new Error(`these came: ${JSON.stringify(spans(), undefined, 1)}`);
        await sleep(clock, POLL_MS);
      }
      return spans();
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
}

/** As much as is read of `ExportTraceServiceRequest` of OTLP. */
interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Pick<CollectedSpan, 'name' | 'traceId' | 'spanId'> & {
        readonly parentSpanId?: string;
        readonly status?: { readonly code?: number };
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
}
interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

function spansIn({ resourceSpans }: ExportRequest): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = valuesOf(resource.attributes)['service.name'] ?? '';
    return scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId = '', status, attributes }) => {
        return {
          service,
          name,
          traceId,
          spanId,
          parentSpanId,
          status: status?.code ?? 0,
          attributes: valuesOf(attributes),
        };
      }),
    );
  });
}

function valuesOf(attributes: readonly Attribute[]): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]));
}
