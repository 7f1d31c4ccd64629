import { BerthError } from '../domain/errors';
import { type ConfigOf, enumOption } from './config';
import type { Log } from './log';
import { installPeers } from './manifest';

/** Switches tracing by OpenTelemetry on or off; the standard `OTEL_...` variables configure the rest. */
export const traceOptions = {
  traces: enumOption({
    env: 'BERTH_TRACES',
    default: 'off',
    values: ['off', 'otlp'],
    help: "Where traces go: nowhere, or by OTLP over HTTP to the collector that OpenTelemetry's own OTEL_... variables name.",
  }),
} as const;

/** A span's kind, as in OpenTelemetry. */
export type SpanKind = 'internal' | 'client' | 'server' | 'producer' | 'consumer';

/** The attributes of a span at its start, named by OpenTelemetry's semantic conventions. */
export interface SpanFacts {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: Readonly<Record<string, string | number>>;
}

/** Records spans. Each span lasts as long as its work and fails with it. */
export interface Tracer {
  /** The open span in W3C Trace Context form, to continue it in another process. */
  traceparent(): string | undefined;
  /** Runs the work in a child of the open span; without an open span, in none. */
  inSpan<T>(facts: SpanFacts, work: () => Promise<T>): Promise<T>;
  /** Runs the work in a child of the open span; without an open span, in the root of a new trace. */
  inTrace<T>(facts: SpanFacts, work: () => Promise<T>): Promise<T>;
  /** Runs the work in a child of another process's span; without a parent, in no span. */
  continueTrace<T>(traceparent: string | undefined, facts: SpanFacts, work: () => Promise<T>): Promise<T>;
  /** Exports the remaining spans, for at most two seconds. */
  close(): Promise<void>;
}

/**
 * The process's tracer. A span stays open across everything that its work awaits, so neither spans nor the tracer are
 * passed from call to call.
 */
let tracer: Tracer | undefined;

/**
 * Starts tracing if configured; only then is OpenTelemetry loaded. `service` is the process's `service.name` (such as
 * `berth-scheduler`) unless OTEL_SERVICE_NAME overrides it.
 *
 * @returns the function that stops it
 */
export async function startTracing(
  { traces }: ConfigOf<typeof traceOptions>,
  process: { readonly service: string; readonly instance: string; readonly log: Log },
): Promise<{ close(): Promise<void> }> {
  if (traces === 'off') return { close: async () => {} };
  const { openTelemetry } = await import('#libs/runtime/open-telemetry').catch(notInstalled);
  const started = openTelemetry(process);
  tracer = started;
  return {
    async close() {
      tracer = undefined;
      await started.close();
    },
  };
}

/** OpenTelemetry is an optional peer of the package: most never trace, and it is a third of what npm would bring. */
function notInstalled(thrown: unknown): never {
  if ((thrown as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw thrown;
  const message = `BERTH_TRACES=otlp needs OpenTelemetry, which is not installed: ${installPeers('@opentelemetry/')}`;
  throw new BerthError('failed_precondition', 'no_opentelemetry', message, { cause: thrown });
}

/** True when this process traces; check it before building attributes. */
export function isTracing(): boolean {
  return tracer !== undefined;
}

/** `Tracer.traceparent`; undefined without tracing. */
export function traceparent(): string | undefined {
  return tracer?.traceparent();
}

/** `Tracer.inSpan`; without tracing, the work alone. */
export function inSpan<T>(facts: SpanFacts, work: () => Promise<T>): Promise<T> {
  return tracer === undefined ? work() : tracer.inSpan(facts, work);
}

/** `Tracer.inTrace`; without tracing, the work alone. */
export function inTrace<T>(facts: SpanFacts, work: () => Promise<T>): Promise<T> {
  return tracer === undefined ? work() : tracer.inTrace(facts, work);
}

/** `Tracer.continueTrace`; without tracing, the work alone. */
export function continueTrace<T>(parent: string | undefined, facts: SpanFacts, work: () => Promise<T>): Promise<T> {
  return tracer === undefined ? work() : tracer.continueTrace(parent, facts, work);
}
