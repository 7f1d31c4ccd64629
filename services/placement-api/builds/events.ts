import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Authenticate } from '#libs/auth/auth';
import { headerOf } from '#libs/auth/header';
import type { Client } from '#libs/client/client';
import { stateOfName } from '#libs/client/nova-states';
import type { Clock } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { EventStream, KEEP_ALIVE_MS } from '#libs/runtime/event-stream';
import type { Query } from '../http/query';
import { type Caller, projectOf } from './caller';
import { eventJson } from './views';

/** Some thousand events, of which the largest request has as many; decoded they take four times as much. */
const MAX_WAITING_BYTES = 2_097_152;

export interface StreamDeps {
  readonly clock: Clock;
  readonly authenticate: Authenticate;
}

/** The header by which an EventSource says, when it listens again, which event it heard last. */
export const LAST_EVENT_ID = 'last-event-id';
/** The first event of a stream that goes on after a lost one: nothing keeps events, and a listing has where each instance is now. */
const MISSED = { message: 'events since the last one are not sent again: list instances now' };

/**
 * GET /berth/events: server-sent events, one for each version of an instance, from now on, until the client goes or reads
 * nothing, its token is no longer good, or `signal` aborts. A client that lost its stream listens again, then lists what it waits for.
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
  let stream: EventStream | undefined;
  const onListening = () => {
    reply.hijack();
    stream = new EventStream(raw, reply.getHeaders());
    if (headerOf(request.headers, LAST_EVENT_ID) !== undefined) stream.send('missed', JSON.stringify(MISSED));
  };
  let cancelCheck = () => {};
  const check = async () => {
    await authenticate(request.headers).then(
      () => stream?.keepAlive(),
      () => gone.abort(),
    );
    if (!ends.aborted) cancelCheck = clock.after(KEEP_ALIVE_MS, () => void check());
  };
  cancelCheck = clock.after(KEEP_ALIVE_MS, () => void check());
  try {
    for await (const event of client.events({ ...filter, onListening, maxWaitingBytes: MAX_WAITING_BYTES }, ends)) {
      const id = `${event.instanceUuid}/${event.version}`;
      if (stream?.send('instance', JSON.stringify(eventJson(event)), id) === false) await stream.drained(ends);
    }
  } catch (thrown) {
    if (!stream) throw thrown;
    const { reason, message } = BerthError.from(thrown);
    stream.send('problem', JSON.stringify({ reason, message }));
  } finally {
    cancelCheck();
    stream?.end();
  }
}
