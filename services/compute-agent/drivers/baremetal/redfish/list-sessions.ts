import {
  askRedfish,
  mustSucceed,
  type RedfishAnswer,
  type RedfishLogin,
  SESSIONS_PATH,
  SessionEnded,
} from './redfish-http';

/** A session that a service has open. */
export interface ListedSession {
  readonly link: string;
  readonly context: string;
}

/**
 * Lists the sessions that a service has open at some moment after it was asked.
 *
 * @param root  of the service: `https://bmc-7`
 * @throws SessionEnded by whose token it reads; BerthError as `askRedfish` and `mustSucceed`
 */
export type ListSessions = (root: string, token: string) => Promise<readonly ListedSession[]>;

/**
 * Lists sessions for many claims at once.
 *
 * The naive way is that each claim reads all of them. Of a service with as many nodes as sessions that is quadratic, when an agent takes over
 * all its nodes. A list of before is no good to a claim either: it must see all who opened theirs before it left its mark. So a service is
 * read once at a time: who asks meanwhile waits for the next list, together with all others who do, and that begins after.
 *
 * It costs a claim the rest of one list at most; and when the session ends by which one is read, all who wait for it claim again.
 */
export function listTogether(login: RedfishLogin): ListSessions {
  const services = new Map<string, List>();
  return (root, token) => {
    const list = services.get(root) ?? oneAtATime((by) => listSessions(login, root, by));
    services.set(root, list);
    return list(token);
  };
}

type List = (token: string) => ReturnType<ListSessions>;

function oneAtATime(list: List): List {
  let running: Promise<unknown> = Promise.resolve();
  let next: ReturnType<List> | undefined;
  return (token) => {
    next ??= running.then(() => {
      next = undefined;
      const listing = list(token);
      running = listing.catch(() => {});
      return listing;
    });
    return next;
  };
}

/** With one request a page, of a service that knows `$expand`; else with one for each session. */
async function listSessions(
  { ask = askRedfish, timeoutMs }: RedfishLogin,
  root: string,
  token: string,
): Promise<readonly ListedSession[]> {
  const read = async (link: string): Promise<RedfishAnswer> => {
    const answer = await ask(root + link, { token }, timeoutMs);
    if (answer.status === 401) throw new SessionEnded();
    return answer;
  };
  const sessions: ListedSession[] = [];
  let page = await read(`${SESSIONS_PATH}?$expand=.`);
  if (page.status >= 400) page = await read(SESSIONS_PATH);
  for (;;) {
    const { Members = [], 'Members@odata.nextLink': nextLink } = mustSucceed(page, SESSIONS_PATH).body as PageBody;
    for (const member of Members) {
      const link = member['@odata.id'];
      const { Context: context = '' } = member.Id === undefined ? await readOne(link, read) : member;
      sessions.push({ link, context });
    }
    if (nextLink === undefined) return sessions;
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
  readonly Context?: string;
}

interface PageBody {
  readonly Members?: readonly SessionBody[];
  readonly 'Members@odata.nextLink'?: string;
}
