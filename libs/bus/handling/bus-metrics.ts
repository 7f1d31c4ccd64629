import type { Counter, Histogram } from 'prom-client';
import type { BerthError } from '../../domain/errors';
import { AGE_BUCKETS_S, type Metrics } from '../../runtime/metrics';

/** A bus's counters. Reasons are a closed set of symbols; queues are no labels, since each host has one. */
export interface BusMetrics {
  /** Calls, casts and events that did not leave this process, or that the broker refused. */
  readonly notSent: Counter<'reason'>;
  readonly deadLetters: Counter<'reason'>;
  /** Ages of postponed messages since their first postponement. */
  readonly postponed: Histogram;
  /** Messages refused before decoding: for their sender, their size, or too many deliveries or postponements. */
  readonly refused: Counter<'reason'>;
  /** Calls whose caller no longer waits for the answer. */
  readonly expired: Counter<'reason'>;
  /** Handlers that threw an unexpected error. */
  readonly handlerFailures: Counter;
  readonly reconnects: Counter;
}

/** Present state of a bus. */
export interface BusState {
  isConnected(): boolean;
  readonly callsWaiting: number;
  readonly unconfirmed: number;
  readonly inHand: number;
}

/** The metrics of one bus; a process has one bus in its metrics. */
export function busMetrics(metrics: Metrics, state: BusState): BusMetrics {
  const gauge = (name: string, help: string, value: () => number) =>
    metrics.gauge(name, help, [], (its) => its.set(value()));
  gauge('berth_bus_connected', '1 while messages flow.', () => Number(state.isConnected()));
  gauge('berth_bus_calls_waiting', 'Calls that wait for their answers.', () => state.callsWaiting);
  gauge(
    'berth_bus_messages_unconfirmed',
    'Casts and events that the broker has not confirmed.',
    () => state.unconfirmed,
  );
  gauge('berth_bus_messages_in_hand', 'Messages that handlers work on.', () => state.inHand);
  return {
    notSent: metrics.counter('berth_bus_not_sent_total', 'Messages that the broker did not get or take.', ['reason']),
    deadLetters: metrics.counter('berth_bus_dead_letters_total', 'Messages moved to the dead letters.', ['reason']),
    postponed: metrics.histogram(
      'berth_bus_postponed_seconds',
      'Messages that went to the end of their queue, by how long each has been put off.',
      [],
      AGE_BUCKETS_S,
    ),
    refused: metrics.counter('berth_bus_refused_total', 'Messages refused before they were decoded.', ['reason']),
    expired: metrics.counter(
      'berth_bus_expired_calls_total',
      'Calls whose caller had stopped waiting: unread, answered_late.',
      ['reason'],
    ),
    handlerFailures: metrics.counter('berth_bus_handler_failures_total', 'Handlers of messages that threw.'),
    reconnects: metrics.counter('berth_bus_reconnects_total', 'Times that the broker came back.'),
  };
}

/** Counts an error, which then goes to the sender. */
export function countNotSent(metrics: BusMetrics, error: BerthError): BerthError {
  metrics.notSent.inc({ reason: error.reason });
  return error;
}
