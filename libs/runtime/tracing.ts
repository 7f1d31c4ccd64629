import { type ConfigOf, enumOption } from './config';
import type { Log } from './log';

/** Whether a process tells OpenTelemetry what it does. All else is said by the standard `OTEL_...` variables. */
export const traceOptions = {
  traces: enumOption({
    env: 'BERTH_TRACES',
    default: 'off',
    values: ['off', 'otlp'],
    help: "Where traces go: nowhere, or by OTLP over HTTP to the collector that OpenTelemetry's own OTEL_... variables name.",
  }),
} as const;

/** What a span is between processes, as OpenTelemetry has it. */
export type SpanKind = 'internal' | 'client' | 'server' | 'producer' | 'consumer';

/** What is known of a span when it begins; names as OpenTelemetry's semantic conventions have them. */
export interface SpanFacts {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: Readonly<Record<string, string | number>>;
}

/** What tells of spans. Each span lasts as long as its work, and its failure is that of the work. */
export interface Tracer {
  /** The open span in the form of W3C Trace Context, for who goes on with it elsewhere. */
  traceparent(): string | undefined;
  /** A part of the open span; where none is open, the work alone. */
  inSpan<T>(facts: SpanFacts, work: () => Promise<T>): Promise<T>;
  /** A part of the open span; where none is open, the beginning of a trace. */
  inTrace<T>(facts: SpanFacts, work: () => Promise<T>): Promise<T>;
  /** A part of a span of another process; without one, the work alone, in no span. */
  continueTrace<T>(traceparent: string | undefined, facts: SpanFacts, work: () => Promise<T>): Promise<T>;
  /** Sends what has not been sent, as far as that goes in two seconds. */
  close(): Promise<void>;
}

/** Of this process. A span is open in all that its work awaits, so it is not handed from call to call; nor is this. */
let tracer: Tracer | undefined;

/**
 * Starts to trace, if the configuration says so: only then is OpenTelemetry loaded. `service` is the process's
 * `service.name` (as `berth-scheduler`) unless OTEL_SERVICE_NAME says another.
 *
 * @returns what ends it
 */
export async function startTracing(
  { traces }: ConfigOf<typeof traceOptions>,
  process: { readonly service: string; readonly instance: string; readonly log: Log },
): Promise<{ close(): Promise<void> }> {
  if (traces === 'off') return { close: async () => {} };
  const { openTelemetry } = await import('#libs/runtime/open-telemetry');
  const started = openTelemetry(process);
  tracer = started;
  return {
    async close() {
      tracer = undefined;
      await started.close();
    },
  };
}

/** Whether this process traces: who would make facts for nothing asks first. */
export function isTracing(): boolean {
  return tracer !== undefined;
}

/** As `Tracer.traceparent`; undefined when nothing is traced. */
export function traceparent(): string | undefined {
  return tracer?.traceparent();
}

/** As `Tracer.inSpan`. */
export function inSpan<T>(facts: SpanFacts, work: () => Promise<T>): Promise<T> {
  return tracer === undefined ? work() : tracer.inSpan(facts, work);
}

/** As `Tracer.inTrace`. */
export function inTrace<T>(facts: SpanFacts, work: () => Promise<T>): Promise<T> {
  return tracer === undefined ? work() : tracer.inTrace(facts, work);
}

/** As `Tracer.continueTrace`. */
export function continueTrace<T>(parent: string | undefined, facts: SpanFacts, work: () => Promise<T>): Promise<T> {
  return tracer === undefined ? work() : tracer.continueTrace(parent, facts, work);
}
