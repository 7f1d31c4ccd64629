import { existsSync } from 'node:fs';
import { join } from 'node:path';
import files from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import { BerthError } from '#libs/domain/errors';

/** Output folders of `npm run build`: beside this file when it is built itself, else found from the root's sources. */
const FOLDERS = [join(__dirname, '../public'), join(__dirname, '../../../dist/services/console/public')];

/** The addresses of pages: each serves the same document, which reads its own address. */
const PAGES = [
  '/',
  '/fleet',
  '/hosts/:name',
  '/instances',
  '/instances/:uuid',
  '/explain',
  '/builds',
  '/capacity',
  '/guarantees',
  '/reservations',
  '/rehearsals',
  '/health',
  '/nova',
];

/**
 * The browsers' files: one document, one script, one style sheet, one picture, and the documentation below `/docs/`.
 * They contain no secrets, so they need no sign-in.
 */
export async function registerFiles(app: FastifyInstance): Promise<void> {
  const root = FOLDERS.find((folder) => existsSync(join(folder, 'index.html')));
  if (root === undefined) {
    app.get('/', async () => {
      throw new BerthError('unavailable', 'not_built', 'the pages are not built: npm run build');
    });
    return;
  }
  // Their names have no version: browsers revalidate them each time.
  await app.register(files, {
    root,
    index: false,
    cacheControl: false,
    setHeaders: (reply) => void reply.setHeader('cache-control', 'no-cache'),
  });
  app.get('/docs', (_request, reply) => reply.redirect('/docs/'));
  app.get('/docs/', (_request, reply) => reply.sendFile('docs/index.html'));
  // People get an error page; programs an error like that of any other request.
  app.setNotFoundHandler((request, reply) => {
    const isForPeople = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html');
    if (isForPeople) return reply.code(404).sendFile('index.html');
    throw new BerthError('not_found', 'no_such_route', `there is no ${request.method} ${request.url.split('?')[0]}`);
  });
  for (const url of PAGES) app.get(url, (_request, reply) => reply.sendFile('index.html'));
}
