import {
  type Context,
  context,
  DiagLogLevel,
  diag,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  SpanKind as StandardKind,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { BerthError } from '../domain/errors';
import { endsWithin } from './ends-within';
import type { Log } from './log';
import { systemClock } from './system';
import type { SpanFacts, SpanKind, Tracer } from './tracing';

const KINDS: Readonly<Record<SpanKind, StandardKind>> = {
  internal: StandardKind.INTERNAL,
  client: StandardKind.CLIENT,
  server: StandardKind.SERVER,
  producer: StandardKind.PRODUCER,
  consumer: StandardKind.CONSUMER,
};

/** Time limit of the last export: an absent collector must not delay the exit. */
const CLOSE_MS = 2_000;

/**
 * Traces with OpenTelemetry's SDK, configured by its own variables: the collector (OTEL_EXPORTER_OTLP_ENDPOINT,
 * ..._HEADERS), sampling (OTEL_TRACES_SAMPLER), batching (OTEL_BSP_...), and resource attributes
 * (OTEL_RESOURCE_ATTRIBUTES).
 */
export function openTelemetry({
  service,
  instance,
  log,
}: {
  readonly service: string;
  readonly instance: string;
  readonly log: Log;
}): Tracer {
  const warn = (message: string) => log.warn({ event: 'traces_not_exported', problem: message }, 'traces are lost');
  const ignore = () => {};
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
  const ours = resourceFromAttributes({ 'service.name': service, 'service.instance.id': instance });
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(ours)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  const tracer = provider.getTracer('berth');

  async function run<T>(parent: Context, { name, kind, attributes }: SpanFacts, work: () => Promise<T>): Promise<T> {
    const span = tracer.startSpan(name, { kind: KINDS[kind], attributes: { ...attributes } }, parent);
    try {
      return await context.with(trace.setSpan(parent, span), work);
    } catch (thrown) {
      noteFailure(span, thrown);
      throw thrown;
    } finally {
      span.end();
    }
  }

  return {
    traceparent() {
      const carrier: { traceparent?: string } = {};
      propagation.inject(context.active(), carrier);
      return carrier.traceparent;
    },
    inSpan(facts, work) {
      const active = context.active();
      return trace.getSpan(active) === undefined ? work() : run(active, facts, work);
    },
    inTrace: (facts, work) => run(context.active(), facts, work),
    continueTrace(traceparent, facts, work) {
      const parent = traceparent === undefined ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });
      return trace.getSpan(parent) === undefined ? context.with(ROOT_CONTEXT, work) : run(parent, facts, work);
    },
    async close() {
      await endsWithin(provider.shutdown(), CLOSE_MS, systemClock());
    },
  };
}

function noteFailure(span: Span, thrown: unknown): void {
  const { code, reason, message } = BerthError.from(thrown);
  span.setAttribute('error.type', reason);
  span.setStatus({ code: SpanStatusCode.ERROR, message: `${code}: ${message}` });
}
