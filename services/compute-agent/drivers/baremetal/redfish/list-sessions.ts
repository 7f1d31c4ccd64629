import { listOf, mustSucceed, type RedfishAnswer, SessionEnded } from './redfish-http';

/** An open session of a service. */
export interface ListedSession {
  readonly link: string;
  readonly context: string;
  readonly userName: string;
}

/** Limit of the pages read. */
const MAX_PAGES = 100;

/**
 * Shares lists among concurrent claims.
 *
 * The naive way is that each claim lists all sessions. For a service with as many nodes as sessions that is quadratic
 * when an agent takes over all its nodes. An earlier list is useless for a claim: it must include all sessions opened
 * before the claim's mark. So one list runs at a time: claims that ask meanwhile wait together for the next list, which
 * begins afterwards.
 *
 * The cost: a claim waits for the rest of one list at most; and when the session that reads a list ends, all claims
 * that wait for it start again.
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
 * The open sessions of a service: one request per page if it supports `$expand`; else one per session.
 *
 * @throws SessionEnded for the reading token; BerthError like `mustSucceed`
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

/** A session that ended meanwhile, or is not visible, is none of Berth's. */
async function readOne(link: string, read: (link: string) => Promise<RedfishAnswer>): Promise<Partial<SessionBody>> {
  const answer = await read(link);
  return answer.status >= 400 && answer.status < 500 ? {} : mustSucceed(answer, link).body;
}

interface SessionBody {
  readonly '@odata.id': string;
  /** Resources have an Id; references do not. */
  readonly Id?: string;
  readonly Context?: string | null;
  readonly UserName?: string | null;
}

interface PageBody {
  readonly Members?: unknown;
  readonly 'Members@odata.nextLink'?: string;
}
