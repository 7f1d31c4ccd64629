import { continueTrace, inSpan, isTracing, type SpanFacts, traceparent } from '../../runtime/tracing';
import type { OutgoingMessage } from '../port';
import type { Delivery } from './delivery';

/** The header by which a trace goes on in another process, of W3C Trace Context. */
export const TRACE_HEADER = 'traceparent';

/** A call from its publication to its answer, as a span. */
export function traceCall<T>(queue: string, message: OutgoingMessage, work: () => Promise<T>): Promise<T> {
  return isTracing() ? inSpan(spanOf('call', 'client', queue, message), work) : work();
}

/** A cast until the broker has it, as a span. */
export function traceCast<T>(queue: string, message: OutgoingMessage, work: () => Promise<T>): Promise<T> {
  return isTracing() ? inSpan(spanOf('send', 'producer', queue, message), work) : work();
}

/** The handling of a call, as a span of its sender's trace. */
export function traceAnswer<T>(queue: string, delivery: Delivery, work: () => Promise<T>): Promise<T> {
  if (!isTracing()) return work();
  return continueTrace(delivery.headers[TRACE_HEADER], spanOf('process', 'server', queue, delivery), work);
}

/** The handling of a cast, as a span of its sender's trace. */
export function traceHandling<T>(queue: string, delivery: Delivery, work: () => Promise<T>): Promise<T> {
  if (!isTracing()) return work();
  return continueTrace(delivery.headers[TRACE_HEADER], spanOf('process', 'consumer', queue, delivery), work);
}

/** The header of a message that is sent within a trace. */
export function traceHeaders(): Readonly<Record<string, string>> | undefined {
  const parent = traceparent();
  return parent === undefined ? undefined : { [TRACE_HEADER]: parent };
}

/** The header of a message that is sent on as it came. */
export function keptTrace({ headers }: Pick<Delivery, 'headers'>): Readonly<Record<string, string>> {
  return traceHeaderOf(headers[TRACE_HEADER]);
}

/** W3C's has 55 characters. */
const MAX_TRACE_CHARS = 128;

/**
 * The header of a trace that somebody else names; none when it is too long to be one. Headers together have a limit, above which a
 * message could be neither put back nor buried.
 */
export function traceHeaderOf(parent: string | undefined): Readonly<Record<string, string>> {
  return parent === undefined || parent === '' || parent.length > MAX_TRACE_CHARS ? {} : { [TRACE_HEADER]: parent };
}

/** Its name is the message's: a queue's may have a host's in it, and there would be as many names as hosts. */
function spanOf(
  operation: string,
  kind: SpanFacts['kind'],
  queue: string,
  { type }: { readonly type: string },
): SpanFacts {
  const name = `${operation} ${type.slice(type.lastIndexOf('.') + 1)}`;
  return { name, kind, attributes: { 'messaging.system': 'rabbitmq', 'messaging.destination.name': queue } };
}
