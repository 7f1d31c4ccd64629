import { continueTrace, inSpan, isTracing, type SpanFacts, traceparent } from '../../runtime/tracing';
import type { OutgoingMessage } from '../port';
import type { Delivery } from './delivery';

/** W3C Trace Context's header, which continues a trace in another process. */
export const TRACE_HEADER = 'traceparent';

/** The span of a call, from publication to answer. */
export function traceCall<T>(queue: string, message: OutgoingMessage, work: () => Promise<T>): Promise<T> {
  return isTracing() ? inSpan(spanOf('call', 'client', queue, message), work) : work();
}

/** The span of a cast, until the broker has it. */
export function traceCast<T>(queue: string, message: OutgoingMessage, work: () => Promise<T>): Promise<T> {
  return isTracing() ? inSpan(spanOf('send', 'producer', queue, message), work) : work();
}

/** The span of a call's handling, in its sender's trace. */
export function traceAnswer<T>(queue: string, delivery: Delivery, work: () => Promise<T>): Promise<T> {
  if (!isTracing()) return work();
  return continueTrace(delivery.headers[TRACE_HEADER], spanOf('process', 'server', queue, delivery), work);
}

/** The span of a cast's handling, in its sender's trace. */
export function traceHandling<T>(queue: string, delivery: Delivery, work: () => Promise<T>): Promise<T> {
  if (!isTracing()) return work();
  return continueTrace(delivery.headers[TRACE_HEADER], spanOf('process', 'consumer', queue, delivery), work);
}

/** The trace header of a message sent within a trace. */
export function traceHeaders(): Readonly<Record<string, string>> | undefined {
  const parent = traceparent();
  return parent === undefined ? undefined : { [TRACE_HEADER]: parent };
}

/** The trace header of a forwarded message. */
export function keptTrace({ headers }: Pick<Delivery, 'headers'>): Readonly<Record<string, string>> {
  return traceHeaderOf(headers[TRACE_HEADER]);
}

/** W3C's has 55 characters. */
const MAX_TRACE_CHARS = 128;

/**
 * A trace header with another's value; none when it is too long to be valid. Headers together have a limit, above which
 * a message could be neither republished nor dead-lettered.
 */
export function traceHeaderOf(parent: string | undefined): Readonly<Record<string, string>> {
  return parent === undefined || parent === '' || parent.length > MAX_TRACE_CHARS ? {} : { [TRACE_HEADER]: parent };
}

/** Named after the message: queue names may contain host names, and there would be as many span names as hosts. */
function spanOf(
  operation: string,
  kind: SpanFacts['kind'],
  queue: string,
  { type }: { readonly type: string },
): SpanFacts {
  const name = `${operation} ${type.slice(type.lastIndexOf('.') + 1)}`;
  return { name, kind, attributes: { 'messaging.system': 'rabbitmq', 'messaging.destination.name': queue } };
}
