import { BerthError } from '#libs/domain/errors';
import { type ListSessions, listTogether } from './list-sessions';
import {
  askRedfish,
  mustSucceed,
  openSession,
  type RedfishAnswer,
  type RedfishLogin,
  type RedfishRequest,
  SessionEnded,
} from './redfish-http';

/** How a node is reached at its Redfish service. */
export interface RedfishAddress extends RedfishLogin {
  /** Its ComputerSystem: `https://bmc-7/redfish/v1/Systems/1`. */
  readonly system: string;
}

/** The epoch in a system's asset tag, behind what operators wrote there. */
const MARK = / ?\[berth (\d+)\]$/;
/** Tries to write it against others who write the system. */
const MAX_MARK_TRIES = 10;
/** Tries to claim a node whose sessions end. */
const MAX_CLAIM_TRIES = 3;
const SERVICE_ROOT = '/redfish/v1';

/**
 * The session by which one agent orders one node, under the epoch by which it holds it.
 *
 * The naive fence is to look into the store before each order. It fails when the agent is paused between the look and the order.
 * So the controller must refuse: a session's token is good until its session is deleted, and that is what the next manager does.
 * It claims the node in three steps: (1) it opens a session, whose `Context` names node and epoch; (2) it writes its epoch into the
 * system (the end of `AssetTag`, guarded by the ETag), unless there is a later one; (3) it deletes the sessions of earlier
 * epochs of the node. Only then it orders. An earlier manager has opened its session before (3), and then has it no more, or
 * after, and then finds the later epoch in its own step (2) and never orders. All of that is plain Redfish.
 *
 * It costs two writes and a list of sessions, begun after (2), for each change of manager, and that the account is Berth's alone.
 * (Fencing tokens: Kleppmann, "How to do distributed locking"; announce, then look: Lamport's bakery.)
 */
export class FencedSession {
  readonly #root: string;
  /** How the `Context` of the node's sessions begins; their epoch follows. */
  readonly #context: string;
  #epoch = 0;
  #token: string | undefined;
  #location = '';
  #claiming: Promise<void> | undefined;

  /** @param listSessions  shared with other nodes of its service */
  constructor(
    private readonly node: string,
    private readonly address: RedfishAddress,
    private readonly listSessions: ListSessions = listTogether(address),
  ) {
    const { system } = address;
    this.#root = system.slice(0, system.indexOf(SERVICE_ROOT));
    this.#context = `berth ${node} `;
  }

  /** Asks under the epoch that was claimed; claims it once more when the session has ended meanwhile. */
  async ask(path: string, request: RedfishRequest = {}): Promise<RedfishAnswer> {
    const token = await this.#claimedToken();
    const first = await this.#fetch(path, { ...request, token });
    if (first.status !== 401) return mustSucceed(first, path);
    // Another request may have claimed it again meanwhile.
    if (this.#token === token) this.#token = undefined;
    const second = await this.#fetch(path, { ...request, token: await this.#claimedToken() });
    if (second.status === 401) throw sessionsEnd(this.node);
    return mustSucceed(second, path);
  }

  /** @throws BerthError as `NodeController.claim`. */
  async claim(epoch: number): Promise<void> {
    // One at a time: each claim ends the sessions of those before it.
    while (this.#claiming) await this.#claiming.catch(() => {});
    if (this.#epoch === epoch && this.#token !== undefined) return;
    this.#claiming = this.#claim(epoch).finally(() => {
      this.#claiming = undefined;
    });
    await this.#claiming;
  }

  async close(): Promise<void> {
    const [token, location] = [this.#token, this.#location];
    this.#token = undefined;
    if (token !== undefined) await this.#fetch(location, { method: 'DELETE', token }).catch(() => {});
  }

  /**
   * A session that ends meanwhile was ended by a later manager, or by the controller, which ends all of them when it restarts. Who is
   * later has left its mark before: the next try sees it.
   */
  async #claim(epoch: number): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#claimOnce(epoch);
      } catch (thrown) {
        if (!(thrown instanceof SessionEnded)) throw thrown;
        if (tries === MAX_CLAIM_TRIES) throw sessionsEnd(this.node);
      }
    }
  }

  async #claimOnce(epoch: number): Promise<void> {
    await this.close();
    this.#epoch = epoch;
    const { token, location } = await openSession(this.#root, this.address, `${this.#context}${epoch}`);
    try {
      await this.#mark(epoch, token);
      await this.#endEarlier(epoch, token, location);
    } catch (thrown) {
      await this.#fetch(location, { method: 'DELETE', token }).catch(() => {});
      throw thrown;
    }
    this.#token = token;
    this.#location = location;
  }

  /** Whoever writes the system in between makes the ETag another, and it is read again. */
  async #mark(epoch: number, token: string): Promise<void> {
    const { system } = this.address;
    for (let tries = 0; tries < MAX_MARK_TRIES; tries++) {
      const read = await this.#fetchAs(system, { token });
      const { headers, body } = mustSucceed(read, system);
      const { AssetTag: tag = '', '@odata.etag': odataTag = '*' } = body as SystemBody;
      const present = Number(MARK.exec(tag)?.[1] ?? 0);
      if (present > epoch) throw superseded(this.node, epoch, present);
      if (present === epoch) return;
      const AssetTag = `${tag.replace(MARK, '')} [berth ${epoch}]`.trimStart();
      const ifMatch = headers.get('etag') ?? odataTag;
      const answer = await this.#fetchAs(system, { method: 'PATCH', body: { AssetTag }, token, ifMatch });
      if (answer.status !== 412) {
        mustSucceed(answer, system);
        return;
      }
    }
    throw new BerthError('unavailable', 'controller_away', `others keep writing ${system}`);
  }

  async #endEarlier(epoch: number, token: string, own: string): Promise<void> {
    for (const { link, context } of await this.listSessions(this.#root, token)) {
      if (this.#absolute(link) === this.#absolute(own) || !context.startsWith(this.#context)) continue;
      if (Number(context.slice(this.#context.length)) > epoch) continue;
      const ended = await this.#fetchAs(link, { method: 'DELETE', token });
      if (ended.status !== 404) mustSucceed(ended, link);
    }
  }

  async #claimedToken(): Promise<string | undefined> {
    if (this.#token === undefined) await this.claim(this.#epoch);
    return this.#token;
  }

  /** With the session that is being opened. @throws SessionEnded */
  async #fetchAs(link: string, request: RedfishRequest): Promise<RedfishAnswer> {
    const answer = await this.#fetch(link, request);
    if (answer.status === 401) throw new SessionEnded();
    return answer;
  }

  #fetch(link: string, request: RedfishRequest): Promise<RedfishAnswer> {
    const { ask = askRedfish, timeoutMs } = this.address;
    return ask(this.#absolute(link), request, timeoutMs);
  }

  /** Links of a service begin with /redfish. */
  #absolute(link: string): string {
    return link.startsWith('/') ? this.#root + link : link;
  }
}

function superseded(node: string, epoch: number, present: number): BerthError {
  const message = `node ${node} is managed under epoch ${present}: nothing is ordered of it under ${epoch}`;
  return new BerthError('aborted', 'epoch_superseded', message);
}

/** A later manager may be ending them just now: the next claim finds its mark, and only that says so. */
function sessionsEnd(node: string): BerthError {
  return new BerthError('unavailable', 'controller_away', `the controller of node ${node} ends each session at once`);
}

interface SystemBody {
  readonly AssetTag?: string;
  readonly '@odata.etag'?: string;
}
