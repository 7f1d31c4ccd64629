import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticate } from '#libs/auth/auth';
import type { Client } from '#libs/client/client';
import { stateOfName } from '#libs/client/nova-states';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import type { Query } from '../http/query';
import { type Caller, projectOf } from './caller';
import { eventJson } from './views';

/** Interval of token checks and of keep-alives. */
const CHECK_MS = 15_000;
/** Some thousand events, of which the largest request has as many; decoded they take four times as much. */
const MAX_WAITING_BYTES = 2_097_152;

export interface StreamDeps {
  readonly clock: Clock;
  readonly authenticate: Authenticate;
}

/**
 * GET /berth/events: server-sent events, one for each version of an instance, from now on, until the client goes, its
 * token is no longer good, or `signal` aborts. A client that lost its stream lists what it waits for and listens again.
 */
export async function streamEvents(
  { clock, authenticate }: StreamDeps,
  { caller, client, query }: { readonly caller: Caller; readonly client: Client; readonly query: Query },
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  signal: AbortSignal,
): Promise<void> {
  const state = query.last('state');
  const filter = {
    projectId: projectOf(caller, query.last('project_id')),
    instanceUuid: query.last('instance_uuid'),
    state: state === undefined ? undefined : stateOfName(state),
  };
  const gone = new AbortController();
  const { raw } = reply;
  raw.on('close', () => gone.abort());
  const ends = AbortSignal.any([signal, gone.signal]);
  const onListening = () => begin(reply);
  let cancelCheck = () => {};
  const check = async () => {
    await authenticate(request.headers).then(
      () => raw.write(':\n\n'),
      () => gone.abort(),
    );
    if (!ends.aborted) cancelCheck = clock.after(CHECK_MS, () => void check());
  };
  cancelCheck = clock.after(CHECK_MS, () => void check());
  try {
    for await (const event of client.events({ ...filter, onListening, maxWaitingBytes: MAX_WAITING_BYTES }, ends)) {
      const isTaken = raw.write(
        `event: instance\nid: ${event.instanceUuid}/${event.version}\ndata: ${JSON.stringify(eventJson(event))}\n\n`,
      );
      if (!isTaken) await drained(raw, ends);
    }
  } catch (thrown) {
    if (!raw.headersSent) throw thrown;
    const { reason, message } = BerthError.from(thrown);
    raw.write(`event: problem\ndata: ${JSON.stringify({ reason, message })}\n\n`);
  } finally {
    cancelCheck();
    if (raw.headersSent) raw.end();
  }
}

function begin(reply: FastifyReply): void {
  reply.hijack();
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  reply.raw.write('retry: 1000\n\n');
}

/** Resolves when a slow client has read on, or is gone. */
function drained(raw: FastifyReply['raw'], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      raw.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    raw.once('drain', done);
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
