import { posix } from 'node:path';
import { CONTENTS, type Source } from '../repository';
import { callsInSources } from './calls';
import { commandPages } from './commands';
import { errorsPage } from './errors';
import { httpApiPage } from './http-api';
import { eventsPage, messagesPage } from './messages';
import { metricsPage } from './metrics';
import { settingsPage } from './settings';

/** The pages that the build writes from the code, as if they stood in `reference/` beside the table of contents. */
export async function referencePages(root: string): Promise<Source[]> {
  const calls = callsInSources(root);
  const pages = {
    ...(await commandPages()),
    settings: settingsPage(),
    metrics: metricsPage(calls),
    events: eventsPage(calls),
    errors: errorsPage(root, calls),
    'http-api': httpApiPage(),
    messages: messagesPage(root),
  };
  const folder = posix.join(posix.dirname(CONTENTS), 'reference');
  return Object.entries(pages).map(([name, markdown]) => ({
    path: `${folder}/${name}.md`,
    markdown,
    isGenerated: true,
  }));
}
