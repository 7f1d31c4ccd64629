import type { SchedulerTimes, SchedulerTrace } from './trace-scheduler';

/** Times of one select in its client, in milliseconds of the shared clock. */
export interface ClientTimes {
  readonly requestId: string;
  readonly startedMs: number;
  writtenMs: number;
  /** The socket was read that brought the answer; the answer was there. */
  readMs: number;
  endedMs: number;
}

/** The parts of a select, in their order. They add up to the whole. */
export const PARTS = {
  client_until_written: 'client: encode, until the socket is written',
  request_on_its_way: "broker and sockets: until the scheduler's socket is read",
  scheduler_turn: 'scheduler: requests of the same read before it, decoding',
  decision: 'scheduler: the decision, and what comes before it',
  sealing: 'scheduler: sealing, until the claim is handed over',
  group_commit: 'scheduler: waiting for the group commit to leave',
  store: "Redis: the run, its sync, sockets, until the reply's socket is read",
  after_claim: 'scheduler: from the reply to the answer',
  answer_until_written: 'scheduler: until the answer is written',
  answer_on_its_way: "broker and sockets: until the client's socket is read",
  client_after_read: 'client: answers of the same read before it, decoding',
} as const;

export type Part = keyof typeof PARTS;

/** Milliseconds of each part of one select, of the whole, and of the scheduler's garbage collection meanwhile. */
export type Breakdown = Readonly<Record<Part | 'whole' | 'collecting', number>>;

/** Breaks each select down that client and scheduler have noted; one that was decided again counts as a longer decision. */
export function breakDown(clients: readonly ClientTimes[], trace: SchedulerTrace): Breakdown[] {
  const bySelect = new Map(trace.selects.map((times) => [times.requestId, times]));
  return clients.flatMap((client) => {
    const scheduler = bySelect.get(client.requestId);
    return scheduler ? [breakDownOne(client, scheduler, trace)] : [];
  });
}

function breakDownOne(
  client: ClientTimes,
  scheduler: SchedulerTimes,
  { runs, collections }: SchedulerTrace,
): Breakdown {
  const { claimingMs, claimedMs } = scheduler;
  const [sentMs, repliedMs] = runs.findLast(([sent, replied]) => sent >= claimingMs && replied <= claimedMs) ?? [
    claimingMs,
    claimedMs,
  ];
  return {
    whole: client.endedMs - client.startedMs,
    client_until_written: client.writtenMs - client.startedMs,
    request_on_its_way: scheduler.readMs - client.writtenMs,
    scheduler_turn: scheduler.begunMs - scheduler.readMs,
    decision: scheduler.decidedMs - scheduler.begunMs,
    sealing: claimingMs - scheduler.decidedMs,
    group_commit: sentMs - claimingMs,
    store: repliedMs - sentMs,
    after_claim: scheduler.answeredMs - repliedMs,
    answer_until_written: scheduler.writtenMs - scheduler.answeredMs,
    answer_on_its_way: client.readMs - scheduler.writtenMs,
    client_after_read: client.endedMs - client.readMs,
    collecting: overlap(collections, client.writtenMs, client.readMs),
  };
}

/** Milliseconds of the pauses that lie between two times. */
function overlap(pauses: readonly (readonly [number, number])[], fromMs: number, toMs: number): number {
  return pauses.reduce((sum, [start, end]) => sum + Math.max(0, Math.min(end, toMs) - Math.max(start, fromMs)), 0);
}
