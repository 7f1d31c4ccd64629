import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BerthError } from '#libs/domain/errors';
import { EventStream, KEEP_ALIVE_MS } from '#libs/runtime/event-stream';
import type { Live } from '../live/live';
import { openPage } from '../live/open-page';
import type { ConsoleConfig } from '../options';
import { refusalOf } from './problem';
import type { Access } from './session';

/** Limit of the bytes that wait for a slow browser; above it events are sent less often. */
const MAX_WAITING_BYTES = 1_048_576;

/** `GET /api/stream`: the data of one page, as long as it is open. */
export function registerStream(
  app: FastifyInstance,
  live: Live,
  access: Access,
  { maxStreams, maxStreamsPerUser }: Pick<ConsoleConfig, 'maxStreams' | 'maxStreamsPerUser'>,
): () => void {
  const open = new Map<() => void, string>();
  const countOf = (userId: string) => [...open.values()].filter((one) => one === userId).length;
  app.get('/api/stream', async (request, reply) => {
    const principal = await access.reader(request);
    const { userId } = principal;
    if (countOf(userId) >= maxStreamsPerUser) {
      const message = `${maxStreamsPerUser} pages of ${userId} are open (BERTH_CONSOLE_MAX_STREAMS_PER_USER)`;
      throw new BerthError('resource_exhausted', 'too_many_pages', message);
    }
    // Reserves streams for users who may act, however many look on.
    const kept = access.mayAct(principal) ? 0 : Math.floor(maxStreams / 10);
    if (open.size >= maxStreams - kept) {
      const message = `${maxStreams} pages are open (BERTH_CONSOLE_MAX_STREAMS)`;
      throw new BerthError('resource_exhausted', 'too_many_pages', message);
    }
    const page = openPage(live, queryOf(request));
    reply.hijack();
    const stream = new EventStream(reply.raw, reply.getHeaders());
    const stopPage = page({
      send: (event, json) => void stream.send(event, json),
      get isBehind() {
        return stream.waitingBytes > MAX_WAITING_BYTES;
      },
    });
    let cancelCheck = () => {};
    const close = () => {
      open.delete(close);
      cancelCheck();
      stopPage();
      stream.end();
    };
    const check = async () => {
      try {
        await access.reader(request);
        stream.keepAlive();
        cancelCheck = live.clock.after(KEEP_ALIVE_MS, () => void check());
      } catch (thrown) {
        const { status, problem } = refusalOf(thrown);
        stream.send(status === 401 || status === 403 ? 'signed_out' : 'problem', JSON.stringify(problem));
        close();
      }
    };
    cancelCheck = live.clock.after(KEEP_ALIVE_MS, () => void check());
    open.set(close, userId);
    reply.raw.on('close', close);
  });
  return () => {
    for (const close of open.keys()) close();
  };
}

function queryOf(request: FastifyRequest): URLSearchParams {
  return new URL(request.url, 'http://console').searchParams;
}
