import { type Clock, sleep } from '#libs/domain/clock';
import { BerthError } from '#libs/domain/errors';
import { createKeyedLock } from '#libs/runtime/keyed-lock';
import { isPassing, retryAfterMs } from '../passing-answers';
import { type ListedSession, listSessions, oneAtATime } from './list-sessions';
import { type LoginGate, loginGate } from './login-gate';
import {
  type AskRedfish,
  askRedfish,
  messageIdsOf,
  messageOf,
  mustSucceed,
  type RedfishAnswer,
  type RedfishRequest,
} from './redfish-http';

/** The account and transport for services. */
export interface RedfishLogin {
  readonly user: string;
  readonly password: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Default: over HTTP. */
  readonly ask?: AskRedfish;
}

/** The authentication of a request: a session, or user and password for a service without sessions. */
export type Credential =
  | { readonly kind: 'session'; readonly token: string; readonly link: string }
  | { readonly kind: 'basic' };

/** Prefix of the `Context` of all sessions that Berth opens. */
export const OUR_CONTEXT = 'berth ';

const SERVICE_ROOT = '/redfish/v1';
const SESSIONS_PATH = `${SERVICE_ROOT}/SessionService/Sessions`;
const MAX_TRIES = 3;
const FIRST_PAUSE_MS = 100;
/** Limit of a requested pause; a service that asks for more counts as away, and the caller decides. */
const MAX_PAUSE_MS = 30_000;
const MAX_REDIRECTS = 5;
/** Time limit of a task; a longer one counts as accepted, and the system shows its outcome. */
const MAX_TASK_MS = 60_000;
const TASK_POLL_MS = 1_000;
const FINISHED_TASK = ['Completed', undefined];
const FAILED_TASK = ['Exception', 'Killed', 'Cancelled', 'Interrupted'];

/** All services that one agent reaches with one account. */
export function redfishServices(login: RedfishLogin): (root: string) => RedfishService {
  const gate = loginGate(login.clock, login.user);
  const services = new Map<string, RedfishService>();
  return (root) => {
    const service = services.get(root) ?? new RedfishService(root, login, gate);
    services.set(root, service);
    return service;
  };
}

/** Splits the address of a resource: `https://bmc-7` and `/redfish/v1/Systems/1`. */
export function splitAddress(url: string): { readonly root: string; readonly link: string } {
  const at = url.indexOf(SERVICE_ROOT);
  return { root: url.slice(0, at), link: url.slice(at) };
}

/**
 * One Redfish service, a BMC or the manager of a chassis, and this agent's only session there: chassis managers allow
 * fewer sessions than they have systems.
 *
 * It allows for everything that the standard allows services (DSP0266): passing errors (503, 429, a cut connection) are
 * retried after the service's own delay; redirects are followed within the service, never to another host, which would
 * receive the session's token; tasks are awaited.
 */
export class RedfishService {
  /** The sessions open at some moment after the call; shared by concurrent calls. @throws SessionEnded */
  readonly listSessions: (credential: Credential) => Promise<readonly ListedSession[]>;
  #current: Credential | undefined;
  #opening: Promise<Credential> | undefined;
  #sessionsPath: string | undefined;
  /** The epoch of each node's claim with the present session. */
  readonly #claims = new Map<string, number>();
  /** By node: one claim at a time, so that two under different epochs never share a session that is being opened. */
  readonly #claiming = createKeyedLock();
  readonly #users = new Set<object>();

  constructor(
    readonly root: string,
    private readonly login: RedfishLogin,
    private readonly gate: LoginGate = loginGate(login.clock, login.user),
  ) {
    this.listSessions = oneAtATime((credential) =>
      listSessions((link) => this.send(link, {}, credential), this.#sessionsPath ?? SESSIONS_PATH),
    );
  }

  /** The present session, or else a new one. @param context  its purpose @throws BerthError also `login_refused` */
  async session(context: string): Promise<Credential> {
    if (this.#current) return this.#current;
    this.#opening ??= this.#open(context).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /**
   * The session for a node's claim. A session that claimed the same node under another epoch is ended first, so that
   * late requests of that epoch are refused.
   */
  sessionFor(node: string, epoch: number, context: string): Promise<Credential> {
    return this.#claiming.run(node, async () => {
      const claimedUnder = this.#claims.get(node);
      if (claimedUnder !== undefined && claimedUnder !== epoch) await this.close();
      const credential = await this.session(context);
      this.#claims.set(node, epoch);
      return credential;
    });
  }

  get clock(): Clock {
    return this.login.clock;
  }

  isCurrent(credential: Credential): boolean {
    return this.#current === credential;
  }

  /** The service has refused the session. @returns true when another may be opened */
  ended(credential: Credential): void {
    if (this.#current === credential) this.#forget();
    if (credential.kind === 'basic') throw this.gate.refused(this.root, '401');
  }

  /**
   * True when this account opened a session for Berth; a service that keeps no `Context` is judged by the user name.
   */
  isOurs({ context, userName }: ListedSession): boolean {
    return context.startsWith(OUR_CONTEXT) || (context === '' && userName === this.login.user);
  }

  use(user: object): void {
    this.#users.add(user);
  }

  /** Closes the session once nobody uses it any more. */
  async leave(user: object): Promise<void> {
    this.#users.delete(user);
    if (this.#users.size === 0) await this.close();
  }

  async close(): Promise<void> {
    const credential = this.#current;
    this.#forget();
    if (credential?.kind === 'session')
      await this.send(credential.link, { method: 'DELETE' }, credential).catch(() => {});
  }

  /**
   * @param link  from the root of the service, or absolute
   * @returns also error answers
   * @throws BerthError `unavailable / controller_away`, `failed_precondition / controller_refused`
   */
  async send(link: string, request: RedfishRequest, credential?: Credential): Promise<RedfishAnswer> {
    const { clock } = this.login;
    const isPost = request.method === 'POST';
    for (let tries = 1; ; tries++) {
      let pauseMs = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1));
      try {
        const answer = await this.#follow(link, request, credential);
        // After a 500 an order may have been executed; after a temporary refusal it was not.
        const isRetryable = isPassing(answer.status) && (!isPost || [429, 503].includes(answer.status));
        const askedMs = retryAfterMs(answer, clock);
        if (!isRetryable || tries === MAX_TRIES || (askedMs ?? 0) > MAX_PAUSE_MS) {
          return answer.status === 202 ? await this.#task(answer, credential) : answer;
        }
        pauseMs = askedMs ?? pauseMs;
      } catch (thrown) {
        if (isPost || tries === MAX_TRIES || !isCut(thrown)) throw thrown;
      }
      await sleep(clock, pauseMs);
    }
  }

  async #follow(link: string, request: RedfishRequest, credential: Credential | undefined): Promise<RedfishAnswer> {
    const { user, password, timeoutMs, ask = askRedfish } = this.login;
    const sent: RedfishRequest = {
      ...request,
      token: credential?.kind === 'session' ? credential.token : undefined,
      basic: credential?.kind === 'basic' ? { user, password } : undefined,
    };
    let url = this.#absolute(link);
    for (let hops = 0; ; hops++) {
      const answer = await ask(url, sent, timeoutMs);
      const location = answer.headers.get('location');
      const keepsMethod = answer.status === 307 || answer.status === 308;
      const isFollowed = keepsMethod || (sent.method ?? 'GET') === 'GET';
      if (answer.status < 301 || answer.status > 308 || location === null || !isFollowed) return answer;
      const next = this.#within(location, url);
      if (next === undefined || hops === MAX_REDIRECTS) {
        const message = `${url} redirects to ${location.slice(0, 200)}: only redirects within the service are followed, ${MAX_REDIRECTS} at most`;
        throw new BerthError('failed_precondition', 'controller_refused', message);
      }
      url = next;
    }
  }

  /** The target of a redirect within the same service: the same origin, or HTTPS in place of its HTTP. */
  #within(location: string, from: string): string | undefined {
    const here = new URL(from);
    if (location.startsWith(SERVICE_ROOT)) return this.root + location;
    if (!URL.canParse(location, from)) return undefined;
    const there = new URL(location, here);
    if (there.origin === here.origin) return there.href;
    const isUpgrade = here.protocol === 'http:' && there.protocol === 'https:';
    return isUpgrade && there.hostname === here.hostname && here.port === '' && there.port === ''
      ? there.href
      : undefined;
  }

  /** Awaits the outcome of an accepted order (202) from the task monitor, or the task itself. */
  async #task(taken: RedfishAnswer, credential: Credential | undefined): Promise<RedfishAnswer> {
    const { clock } = this.login;
    const link = taken.headers.get('location') ?? (taken.body['@odata.id'] as string | undefined);
    if (link === undefined) return taken;
    const untilMs = clock.elapsed() + MAX_TASK_MS;
    for (let last = taken; ; ) {
      const pauseMs = Math.min(retryAfterMs(last, clock) ?? TASK_POLL_MS, MAX_PAUSE_MS);
      if (clock.elapsed() + pauseMs > untilMs) return taken;
      await sleep(clock, pauseMs);
      const answer = await this.#follow(link, {}, credential);
      const { TaskState, Messages } = answer.body as { TaskState?: string; Messages?: unknown };
      if (FAILED_TASK.includes(TaskState ?? '')) {
        const body = { error: { '@Message.ExtendedInfo': Messages, message: `the task ended as ${TaskState}` } };
        return { ...answer, status: 400, body };
      }
      // A monitor vanishes once read, and so may the task of a restarting service.
      if (answer.status === 404 || answer.status === 410) return taken;
      const isDone = answer.status !== 202 && FINISHED_TASK.includes(TaskState);
      if (!isPassing(answer.status) && (answer.status >= 400 || isDone)) return answer;
      last = answer;
    }
  }

  async #open(context: string): Promise<Credential> {
    this.gate.check(this.root);
    const path = await this.#pathOfSessions();
    const credential = path === undefined ? ({ kind: 'basic' } as const) : await this.#login(path, context);
    this.#claims.clear();
    this.#current = credential;
    return credential;
  }

  async #login(path: string, context: string): Promise<Credential> {
    const { user: UserName, password: Password } = this.login;
    const post = (body: object) => this.send(path, { method: 'POST', body });
    let answer = await post({ UserName, Password, Context: context });
    // Older services lack Context.
    if (answer.status === 400 && !isOverLimit(answer)) answer = await post({ UserName, Password });
    if (isOverLimit(answer)) {
      await this.#endOurs(path);
      answer = await post({ UserName, Password, Context: context });
    }
    if (answer.status === 401 || answer.status === 403) {
      throw this.gate.refused(this.root, `${answer.status} ${messageOf(answer)}`.trim());
    }
    if ([404, 405, 501].includes(answer.status)) return { kind: 'basic' };
    const { headers, body } = mustSucceed(answer, this.root + path);
    const token = headers.get('x-auth-token');
    const link = headers.get('location') ?? (body['@odata.id'] as string | undefined);
    if (token === null || link === undefined) {
      throw new BerthError('failed_precondition', 'controller_refused', `${this.root}${path} opened no session`);
    }
    this.gate.accepted(this.root);
    return { kind: 'session', token, link };
  }

  /** Undefined for a service that declares that it has no sessions. */
  async #pathOfSessions(): Promise<string | undefined> {
    if (this.#sessionsPath !== undefined) return this.#sessionsPath;
    const { status, body } = await this.send(`${SERVICE_ROOT}/`, {});
    const { Links, SessionService, RedfishVersion } = body as RootBody;
    const linked = Links?.Sessions?.['@odata.id'];
    if (status < 300 && RedfishVersion !== undefined && linked === undefined && SessionService === undefined) {
      return undefined;
    }
    const path = linked ?? SESSIONS_PATH;
    if (status < 300) this.#sessionsPath = path;
    return path;
  }

  /**
   * All sessions of the service are in use: ends those that Berth left open, as after an agent was killed, with the
   * password. Live agents that lose theirs open new ones.
   */
  async #endOurs(path: string): Promise<void> {
    const basic = { kind: 'basic' } as const;
    const sessions = await listSessions((link) => this.send(link, {}, basic), path).catch(() => []);
    for (const one of sessions) {
      if (this.isOurs(one)) await this.send(one.link, { method: 'DELETE' }, basic);
    }
  }

  #forget(): void {
    this.#current = undefined;
    this.#claims.clear();
  }

  /** Links of a service begin with /redfish. */
  #absolute(link: string): string {
    return link.startsWith('/') ? this.root + link : link;
  }
}

/** The service cut the connection: it restarted, or closed an idle one. */
function isCut(thrown: unknown): boolean {
  const { cause } = BerthError.from(thrown);
  return ['ECONNRESET', 'EPIPE'].includes((cause as NodeJS.ErrnoException | undefined)?.code ?? '');
}

function isOverLimit(answer: RedfishAnswer): boolean {
  return (
    answer.status >= 400 && /SessionLimitExceeded|ResourceAtUri.*Limit|CreateLimitReached/.test(messageIdsOf(answer))
  );
}

interface RootBody {
  readonly RedfishVersion?: string;
  readonly SessionService?: unknown;
  readonly Links?: { readonly Sessions?: { readonly '@odata.id'?: string } };
}
