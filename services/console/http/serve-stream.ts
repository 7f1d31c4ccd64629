import type { FastifyInstance, FastifyRequest } from 'fastify';
import { BerthError } from '#libs/domain/errors';
import type { Live } from '../live/live';
import { openPage } from '../live/open-page';
import { EventStream } from './event-stream';
import { refusalOf } from './problem';
import type { Access } from './session';

/** How often a stream's token is checked anew, and a sign of life is sent. */
const CHECK_MS = 15_000;

/** `GET /api/stream`: what one page shows, as long as it is open. */
export function registerStream(app: FastifyInstance, live: Live, access: Access, maxStreams: number): () => void {
  const open = new Set<() => void>();
  app.get('/api/stream', async (request, reply) => {
    await access.reader(request);
    if (open.size >= maxStreams) {
      const message = `${maxStreams} pages are open (BERTH_CONSOLE_MAX_STREAMS)`;
      throw new BerthError('resource_exhausted', 'too_many_pages', message);
    }
    const page = openPage(live, queryOf(request));
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    const stream = new EventStream(reply.raw);
    const stopPage = page(stream);
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
        stream.comment();
        cancelCheck = live.clock.after(CHECK_MS, () => void check());
      } catch (thrown) {
        const { status, problem } = refusalOf(thrown);
        stream.send(status === 401 || status === 403 ? 'signed_out' : 'problem', JSON.stringify(problem));
        close();
      }
    };
    cancelCheck = live.clock.after(CHECK_MS, () => void check());
    open.add(close);
    reply.raw.on('close', close);
  });
  return () => {
    for (const close of open) close();
  };
}

function queryOf(request: FastifyRequest): URLSearchParams {
  return new URL(request.url, 'http://console').searchParams;
}
