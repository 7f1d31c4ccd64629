import type { RedisClient } from '../../redis/connect';
import type { LuaScript } from '../../redis/scripts';
import { type AllocationCommand, asReleased, asWrite } from '../commands/run-command';
import type { Change, CommitResult, WriteAllocations } from '../store';
import { type ClaimArgs, type KnownRests, pushCommit } from './claim-args';
import type { Keys } from './keys';
import { decodeOutcome } from './replies';
import { decodeChange } from './rows';

/** Consumers in one run of the script, beyond those of its first commit: Redis does nothing else meanwhile. */
const MAX_CONSUMERS = 128;

interface Waiting {
  readonly command: AllocationCommand;
  readonly write: WriteAllocations;
  readonly resolve: (result: CommitResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Commits of allocations, all that come in one turn of the event loop in one run of the script.
 *
 * The naive way runs it for each. Under load a scheduler decides dozens of requests in a turn, and for each of them the
 * run itself, its record in the stream and what every mirror does with that cost more than the claim. Here they travel
 * together, as databases do it (group commit): each is still made or refused by itself and in order, they only share the
 * revision. The revision is their claims' token, too, so a consumer is in a group but once: a late release with the token
 * of its first claim must not take its second. A commit that comes alone waits for nothing but the end of the turn. What
 * it costs: when the connection breaks, the outcome of all that travelled together is unknown.
 */
export class GroupCommit {
  readonly #client: RedisClient;
  readonly #script: LuaScript;
  readonly #keys: readonly string[];
  readonly #streamLength: number;
  #waiting: Waiting[] = [];

  constructor(client: RedisClient, script: LuaScript, keys: Keys, streamLength: number) {
    const { revision, changes, usage, inventory, consumer, resource_class, counters } = keys;
    this.#client = client;
    this.#script = script;
    this.#keys = [revision, changes, usage, inventory, consumer, resource_class, counters];
    this.#streamLength = streamLength;
  }

  /** @throws BerthError as `checkedWrites` and `RedisClient.run`. */
  commit(command: AllocationCommand): Promise<CommitResult> {
    const write = asWrite(command);
    return new Promise((resolve, reject) => {
      // After all sockets that have something were read: requests over HTTP come on one each.
      if (this.#waiting.push({ command, write, resolve, reject }) === 1) setImmediate(() => this.#sendAll());
    });
  }

  #sendAll(): void {
    const all = this.#waiting;
    this.#waiting = [];
    let group: Waiting[] = [];
    let uuids = new Set<string>();
    for (const waiting of all) {
      const { consumers } = waiting.write;
      const isFull = uuids.size > 0 && uuids.size + consumers.length > MAX_CONSUMERS;
      if (isFull || consumers.some(({ uuid }) => uuids.has(uuid))) {
        void this.#send(group);
        group = [];
        uuids = new Set();
      }
      group.push(waiting);
      for (const { uuid } of consumers) uuids.add(uuid);
    }
    void this.#send(group);
  }

  /** Never rejects. */
  async #send(group: readonly Waiting[]): Promise<void> {
    try {
      const args: ClaimArgs = [this.#streamLength, group[0]?.command.atMs ?? 0, group.length];
      const known: KnownRests = new Map();
      for (const { command, write } of group) pushCommit(args, write, command.atMs, known);
      const reply = (await this.#client.runScript(this.#script, this.#keys, args)) as [string, string, ...string[][]];
      const [revision, rows, ...outcomes] = reply;
      const change: Change | undefined = revision === '' ? undefined : decodeChange(Number(revision), rows, known);
      for (const [i, { command, resolve }] of group.entries()) {
        const result = decodeOutcome(outcomes[i] ?? [], change);
        resolve(result.kind === 'committed' ? result : asReleased(command, result));
      }
    } catch (thrown) {
      for (const { reject } of group) reject(thrown);
    }
  }
}
