import type { FastifyInstance, FastifyRequest } from 'fastify';
import { visitDeadLetters } from '#libs/client/dead-letters';
import { MOST_DEAD_LETTERS } from '../actions/console-actions';
import type { DeadLetterRow } from '../api/builds';
import { readChoices } from '../views/choices';
import { explain } from '../views/explain';
import { search } from '../views/search';
import type { AppParts } from './app-parts';
import type { Access } from './session';

/** Single requests of pages, besides their streams. */
export function registerQuestions(app: FastifyInstance, parts: AppParts, access: Access): void {
  const serve = (url: string, read: (query: URLSearchParams) => unknown) => {
    app.get(url, async (request, reply) => {
      await access.reader(request);
      reply.header('cache-control', 'no-store');
      return read(queryOf(request));
    });
  };
  serve('/api/search', (query) => search(parts.live, query.get('q') ?? ''));
  serve('/api/choices', () => readChoices(parts.live));
  serve('/api/explain', (query) => explain(parts, query));
  serve('/api/dead-letters', async () => {
    const letters: DeadLetterRow[] = [];
    await visitDeadLetters(parts.bus, parts.clock, MOST_DEAD_LETTERS, ({ code: _code, ...letter }) => {
      letters.push(letter);
      return 'leave';
    });
    return letters;
  });
  app.get('/api/rehearsals/:id', async (request, reply) => {
    await access.reader(request);
    const { id = '' } = request.params as { id?: string };
    return reply.header('cache-control', 'no-store').type('application/json').send(parts.rehearsals.report(id));
  });
}

function queryOf(request: FastifyRequest): URLSearchParams {
  return new URL(request.url, 'http://console').searchParams;
}
