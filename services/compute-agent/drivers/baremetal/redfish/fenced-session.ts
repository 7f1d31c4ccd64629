import { BerthError } from '#libs/domain/errors';
import { notSurelyHeld } from '../../fenced';
import type { ClaimTerms } from '../node-controller';
import { patchResource } from './patch-resource';
import { mustSucceed, type RedfishAnswer, type RedfishRequest, SessionEnded } from './redfish-http';
import { type Credential, OUR_CONTEXT, type RedfishService } from './redfish-service';
import { systemIdOf } from './system-id';

/** The epoch in a system's asset tag, after the operators' own text. `new`: the node has no record yet. */
const MARK = / ?\[berth (\d+)( new)?\]$/;
const NEW_MARK = / ?\[berth \d+ new\]$/;
/** Limit of a tag's characters in a message. */
const MOST_TAG = 60;
/** Limit of the tries to claim a node whose sessions end. */
const MAX_CLAIM_TRIES = 5;

/**
 * One agent's session for one node, fenced by the epoch of its lease.
 *
 * The naive fence is to read the store before each order. It fails when the agent is paused between the read and the
 * order. So the controller must refuse: a session's token is valid until its session is deleted, and the next manager
 * deletes it. It claims the node in three steps: (1) it has a session; (2) it writes its epoch into the system (the end
 * of `AssetTag`, guarded by the ETag), unless there is a later one; (3) it deletes the sessions of all earlier managers
 * of the service's nodes. Only then does it order, and only with the token of its claim. If an earlier manager opened
 * its session before (3), the session is gone; if after, it finds the later epoch in its own step (2) and never orders.
 * All of that is plain Redfish.
 *
 * An agent has one session for all nodes of a service. An agent that loses it because one of the nodes has another
 * manager now opens a new one, and checks the mark of each other node before it orders them again; step (3) is not
 * repeated for these. A node without a mark had no manager, and no session to end.
 *
 * The cost: two writes and a list of sessions, begun after (2), for each change of manager; and the account must be
 * Berth's alone. (Fencing tokens: Kleppmann, "How to do distributed locking"; announce, then look: Lamport's bakery.)
 *
 * A node without a record is claimed as a new one: its mark says `new` until the claim that precedes the first order,
 * and a mark without that word refuses it. So a node with lost records is distinguished from one whose agent died
 * before it wrote the first.
 *
 * Weaker fences: a system that keeps no asset tag has no mark, so an agent whose session has ended checks its lease
 * before it opens another; a service without sessions has the mark only, which is read before each order.
 */
export class FencedSession {
  #epoch = 0;
  #terms: ClaimTerms = {};
  /** The machine that answered first, where the terms name none. */
  #seenId = '';
  #isMarkKept = true;
  /** The mark says that the node has no record: nothing is ordered under it. */
  #isMarkedNew = false;
  /** The epoch of the completed steps (1) to (3). */
  #fencedUnder: number | undefined;
  /** The session that claimed the node. */
  #claimedBy: Credential | undefined;
  #claiming: Promise<void> | undefined;

  /**
   * @param system   its ComputerSystem: `/redfish/v1/Systems/1`
   * @param service  shared with the service's other nodes
   */
  constructor(
    private readonly node: string,
    private readonly system: string,
    private readonly service: RedfishService,
  ) {}

  /** True when the system keeps the mark. */
  get isMarkKept(): boolean {
    return this.#isMarkKept;
  }

  /**
   * Sends a request under the claimed epoch; claims again if the session has ended meanwhile. @throws BerthError like
   * `mustSucceed`
   */
  async ask(link: string, request: RedfishRequest = {}): Promise<RedfishAnswer> {
    return mustSucceed(await this.send(link, request), link);
  }

  /** Like `ask`, but also returns error answers. */
  async send(link: string, request: RedfishRequest = {}): Promise<RedfishAnswer> {
    const first = await this.#claimed();
    if (first.kind === 'basic' && (request.method ?? 'GET') !== 'GET') await this.#mark(this.#epoch, first);
    const answer = await this.service.send(link, request, first);
    if (answer.status !== 401) return answer;
    this.#ended(first);
    const second = await this.service.send(link, request, await this.#claimed());
    if (second.status === 401) throw sessionsEnd(this.node);
    return second;
  }

  /** @throws BerthError like `NodeController.claim`. */
  async claim(epoch: number, terms: ClaimTerms): Promise<void> {
    if (terms.systemId === '') this.#seenId = '';
    await this.#claimUnder(epoch, terms);
  }

  /**
   * A replaced machine is neither marked nor ordered: each order follows a look at the system, which shows which one it is.
   * Behind a shared service, sessions outlive a machine.
   *
   * @param body  of the system
   * @throws BerthError `failed_precondition / system_changed`
   */
  requireSame(body: RedfishAnswer['body']): void {
    const { systemId = '' } = this.#terms;
    const expected = systemId || this.#seenId;
    const present = systemIdOf(body);
    if (expected === '') this.#seenId = present;
    else if (isAnother(expected, present)) throw systemChanged(this.node, expected, present);
  }

  async #claimUnder(epoch: number, terms: ClaimTerms): Promise<void> {
    this.#terms = terms;
    // One at a time: each claim ends the sessions of earlier ones.
    while (this.#claiming) await this.#claiming.catch(() => {});
    if (this.#epoch === epoch && this.#isClaimed && this.#isMarkedNew === (terms.isNew === true)) return;
    this.#claiming = this.#claim(epoch).finally(() => {
      this.#claiming = undefined;
    });
    await this.#claiming;
  }

  async close(): Promise<void> {
    this.#claimedBy = undefined;
    await this.service.leave(this);
  }

  get #isClaimed(): boolean {
    return this.#claimedBy !== undefined && this.service.isCurrent(this.#claimedBy);
  }

  #ended(credential: Credential): void {
    this.service.ended(credential);
    if (this.#claimedBy === credential) this.#claimedBy = undefined;
  }

  /**
   * A session that ends meanwhile was ended by a later manager, or by the controller, which ends all of them at a
   * restart. A later manager has left its mark first, which the next try sees.
   */
  async #claim(epoch: number): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#claimOnce(epoch);
      } catch (thrown) {
        if (thrown instanceof SessionEnded && tries < MAX_CLAIM_TRIES) continue;
        await this.service.leave(this);
        throw thrown instanceof SessionEnded ? sessionsEnd(this.node) : thrown;
      }
    }
  }

  async #claimOnce(epoch: number): Promise<void> {
    const { isCertain = () => true } = this.#terms;
    const isAgain = this.#fencedUnder === epoch;
    // The controller does not show whether it has another manager since.
    if (isAgain && !this.#isMarkKept && !isCertain()) throw notSurelyHeld(this.node, epoch);
    this.#epoch = epoch;
    this.#claimedBy = undefined;
    this.service.use(this);
    const credential = await this.service.sessionFor(this.node, epoch, `${OUR_CONTEXT}${this.node} ${epoch}`);
    const before = await this.#mark(epoch, credential);
    const mayHaveOthers = !this.#isMarkKept || (before !== undefined && !isAgain);
    if (mayHaveOthers && credential.kind === 'session') await this.#endOthers(credential);
    this.#claimedBy = credential;
    this.#fencedUnder = epoch;
  }

  /** Writes the mark, and checks whether it is kept. @returns the previous epoch in the mark, if any */
  async #mark(epoch: number, credential: Credential): Promise<number | undefined> {
    let before: number | undefined;
    const access = {
      read: (link: string) => this.#sendBy(credential, link),
      send: (link: string, request: RedfishRequest) => this.#sendBy(credential, link, request),
    };
    const { isNew = false } = this.#terms;
    const answer = await patchResource(this.system, access, ({ body }) => {
      this.requireSame(body);
      const tag = tagOf(body);
      before = markOf(tag);
      if (before !== undefined && before > epoch) throw superseded(this.node, epoch, before);
      if (isNew && wasManaged(tag)) throw managedBefore(this.node, tag);
      const marked = `${tag.replace(MARK, '')} [berth ${epoch}${isNew ? ' new' : ''}]`.trimStart();
      return marked === tag ? undefined : { AssetTag: marked };
    });
    this.#isMarkedNew = isNew;
    if (answer === undefined) return before;
    // The tag can't be written, is silently dropped, or cut off.
    const isRefused = answer.status >= 400 && answer.status < 500;
    if (!isRefused) mustSucceed(answer, this.system);
    const { body } = mustSucceed(await access.read(this.system), this.system);
    const kept = markOf(tagOf(body));
    if (kept !== undefined && kept > epoch) throw superseded(this.node, epoch, kept);
    this.#isMarkKept = kept === epoch;
    if (isNew && !this.#isMarkKept) throw markNotKept(this.node);
    return before;
  }

  async #endOthers(credential: Credential & { kind: 'session' }): Promise<void> {
    for (const session of await this.service.listSessions(credential)) {
      const isOwn = pathOf(session.link) === pathOf(credential.link);
      if (isOwn || !this.service.isOurs(session)) continue;
      const ended = await this.#sendBy(credential, session.link, { method: 'DELETE' });
      if (ended.status !== 404 && ended.status !== 410) mustSucceed(ended, session.link);
    }
  }

  async #claimed(): Promise<Credential> {
    if (!this.#isClaimed) await this.#claimUnder(this.#epoch, this.#terms);
    if (this.#claimedBy === undefined) throw sessionsEnd(this.node);
    return this.#claimedBy;
  }

  /** Uses the session of the claim in progress. @throws SessionEnded */
  async #sendBy(credential: Credential, link: string, request: RedfishRequest = {}): Promise<RedfishAnswer> {
    const answer = await this.service.send(link, request, credential);
    if (answer.status !== 401) return answer;
    this.#ended(credential);
    throw new SessionEnded();
  }
}

/**
 * True when two ids surely belong to different machines. A uuid and a serial number don't compare: firmware may show
 * less than before.
 */
export function isAnother(expected: string, present: string): boolean {
  return present !== '' && expected !== present && expected.startsWith('serial ') === present.startsWith('serial ');
}

export function systemChanged(node: string, expected: string, present: string): BerthError {
  const message = `node ${node} was the machine ${expected}, and ${present} answers in its place: put the first back, or take the new one over with berth node enroll ${node}`;
  return new BerthError('failed_precondition', 'system_changed', message);
}

function tagOf({ AssetTag }: RedfishAnswer['body']): string {
  return typeof AssetTag === 'string' ? AssetTag : '';
}

function markOf(tag: string): number | undefined {
  const mark = MARK.exec(tag)?.[1];
  return mark === undefined ? undefined : Number(mark);
}

/** True when Berth has managed a system, or is about to. */
export function isMarked(body: RedfishAnswer['body']): boolean {
  return tagOf(body).includes('[berth ');
}

/** A mark counts anywhere in the tag: operators may have written behind it. */
function wasManaged(tag: string): boolean {
  return tag.replace(NEW_MARK, '').includes('[berth ');
}

function pathOf(link: string): string {
  return link.slice(Math.max(0, link.indexOf('/redfish/')));
}

/** Stopped instances leave a machine off, so that it looks like a new one. */
function managedBefore(node: string, tag: string): BerthError {
  const message = `node ${node} has no record, and its asset tag says that Berth managed it (${tag.slice(-MOST_TAG)}): an instance's data may be on it. ${byHand(node)}`;
  return new BerthError('failed_precondition', 'managed_before', message);
}

function markNotKept(node: string): BerthError {
  const message = `node ${node} has no record, and its controller keeps no asset tag that says whether Berth managed it: an instance's data may be on it. ${byHand(node)}`;
  return new BerthError('failed_precondition', 'mark_not_kept', message);
}

function byHand(node: string): string {
  return `If nothing on it is needed, berth node enroll ${node} cleans it and gives it out; with --manageable it stays as it is`;
}

function superseded(node: string, epoch: number, present: number): BerthError {
  const message = `a newer agent now manages ${node}: its epoch is ${present}, not ${epoch}`;
  return new BerthError('aborted', 'epoch_superseded', message);
}

/** A later manager may be ending them right now: only the mark, which the next claim reads, proves it. */
function sessionsEnd(node: string): BerthError {
  return new BerthError('unavailable', 'controller_away', `the controller of node ${node} ends each session at once`);
}
