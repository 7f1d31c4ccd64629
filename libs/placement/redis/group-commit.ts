import type { RedisClient } from '../../redis/connect';
import { perTurn } from '../../redis/per-turn';
import type { LuaScript } from '../../redis/scripts';
import { type AllocationCommand, asReleased, asWrite } from '../commands/run-command';
import type { Change, CommitResult, WriteAllocations } from '../store';
import { type ClaimArgs, type KnownConsumers, pushCommit } from './claim-args';
import type { Keys } from './keys';
import { decodeRefusal, type RefusalReply } from './replies';
import { decodeChange } from './rows';

/** Consumers in one run of the script, beyond those of its first commit: Redis does nothing else meanwhile. */
const MAX_CONSUMERS = 128;

/** A command, and what it writes. */
interface Commit {
  readonly command: AllocationCommand;
  readonly write: WriteAllocations;
}

/**
 * Commits of allocations, all that come in one turn of the event loop in one run of the script.
 *
 * The naive way runs it for each. Under load a scheduler decides dozens of requests in a turn, and for each of them the
 * run itself, its record in the stream and what every mirror does with that cost more than the claim. Here they travel
 * together, as databases do it (group commit): each is still made or refused by itself and in order, they only share the
 * revision. The revision is their claims' token, too, so a consumer is in a group but once: a late release with the token
 * of its first claim must not take its second. What it costs: when the connection breaks, the outcome of all that
 * travelled together is unknown.
 *
 * @returns what commits one of them; it throws BerthError as `checkedWrites` and `RedisClient.run`
 */
export function groupCommit(
  client: RedisClient,
  script: LuaScript,
  { revision, changes, usage, inventory, consumer, resource_class, counters }: Keys,
  streamLength: number,
): (command: AllocationCommand) => Promise<CommitResult> {
  const keys = [revision, changes, usage, inventory, consumer, resource_class, counters];
  const commit = perTurn(eachConsumerOnce, async (group: readonly Commit[]): Promise<CommitResult[]> => {
    const args: ClaimArgs = [streamLength, group[0]?.command.atMs ?? 0, group.length];
    const known: KnownConsumers = new Map();
    for (const { command, write } of group) pushCommit(args, write, command.atMs, known);
    const reply = (await client.runScript(script, keys, args)) as [string, string, ...RefusalReply[]];
    const [newRevision, rows, ...refusals] = reply;
    const refused = new Map(refusals.map((refusal) => [refusal[0], decodeRefusal(refusal)]));
    const isMade = refused.size < group.length;
    const change = isMade ? decodeChange(Number(newRevision), rows, known) : undefined;
    return group.map(({ command }, i) => {
      const refusal = refused.get(i + 1);
      return refusal ? asReleased(command, refusal) : { kind: 'committed', change: change as Change };
    });
  });
  return (command) => commit({ command, write: asWrite(command) });
}

function eachConsumerOnce(): (commit: Commit) => boolean {
  const uuids = new Set<string>();
  return ({ write: { consumers } }) => {
    const isFull = uuids.size > 0 && uuids.size + consumers.length > MAX_CONSUMERS;
    if (isFull || consumers.some(({ uuid }) => uuids.has(uuid))) return false;
    for (const { uuid } of consumers) uuids.add(uuid);
    return true;
  };
}
