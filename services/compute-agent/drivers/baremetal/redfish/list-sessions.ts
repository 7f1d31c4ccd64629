import { listOf, mustSucceed, type RedfishAnswer, SessionEnded } from './redfish-http';

/** A session that a service has open. */
export interface ListedSession {
  readonly link: string;
  readonly context: string;
  readonly userName: string;
}

/** So many pages are read at most. */
const MAX_PAGES = 100;

/**
 * Lists for many at once.
 *
 * The naive way is that each claim reads all of them. Of a service with as many nodes as sessions that is quadratic, when an agent takes over
 * all its nodes. A list of before is no good to a claim either: it must see all who opened theirs before it left its mark. So a service is
 * read once at a time: who asks meanwhile waits for the next list, together with all others who do, and that begins after.
 *
 * It costs a claim the rest of one list at most; and when the session ends by which one is read, all who wait for it claim again.
 */
export function oneAtATime<B, T>(list: (by: B) => Promise<T>): (by: B) => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return (by) => {
    next ??= running.then(() => {
      next = undefined;
      const listing = list(by);
      running = listing.catch(() => {});
      return listing;
    });
    return next;
  };
}

/**
 * The sessions that a service has open: with one request a page, of a service that knows `$expand`; else with one for each session.
 *
 * @throws SessionEnded by whose token it reads; BerthError as `mustSucceed`
 */
export async function listSessions(
  send: (link: string) => Promise<RedfishAnswer>,
  path: string,
): Promise<readonly ListedSession[]> {
  const read = async (link: string): Promise<RedfishAnswer> => {
    const answer = await send(link);
    if (answer.status === 401) throw new SessionEnded();
    return answer;
  };
  const sessions: ListedSession[] = [];
  let page = await read(`${path}?$expand=.`);
  if (page.status >= 400) page = await read(path);
  for (let pages = 1; ; pages++) {
    const { Members, 'Members@odata.nextLink': nextLink } = mustSucceed(page, path).body as PageBody;
    for (const member of listOf<SessionBody>(Members)) {
      const link = member['@odata.id'];
      const { Context, UserName } = member.Id === undefined ? await readOne(link, read) : member;
      sessions.push({ link, context: Context ?? '', userName: UserName ?? '' });
    }
    if (nextLink === undefined || pages === MAX_PAGES) return sessions;
    page = await read(nextLink);
  }
}

/** One that has ended meanwhile, or that is not to be seen, is none of Berth's. */
async function readOne(link: string, read: (link: string) => Promise<RedfishAnswer>): Promise<Partial<SessionBody>> {
  const answer = await read(link);
  return answer.status >= 400 && answer.status < 500 ? {} : mustSucceed(answer, link).body;
}

interface SessionBody {
  readonly '@odata.id': string;
  /** Each resource has one; references have not. */
  readonly Id?: string;
  readonly Context?: string | null;
  readonly UserName?: string | null;
}

interface PageBody {
  readonly Members?: unknown;
  readonly 'Members@odata.nextLink'?: string;
}
