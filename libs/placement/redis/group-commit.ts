import type { ConsumerOwner } from '../../domain/consumer';
import { BerthError } from '../../domain/errors';
import type { CapacityRefusal } from '../../domain/inventory';
import type { RedisClient } from '../../redis/connect';
import type { LuaScript } from '../../redis/scripts';
import { batchPerTick } from '../../runtime/batch-per-tick';
import { type AllocationCommand, asReleased, asWrite } from '../commands/allocation-command';
import { bodyOf, isEmpty } from '../commands/allocations';
import { asUsage, type ConsumerBody } from '../commands/tables';
import type {
  Change,
  CommitResult,
  ConsumerGuard,
  ConsumerWrite,
  RefusedCommit,
  Subject,
  WriteAllocations,
} from '../port/placement-store';
import { decodeChange } from './change-record';
import type { Keys } from './keys';
import { decodeRow, encodeBody } from './row-format';

/** Consumers in one run of the script, beyond those of its first commit: Redis does nothing else meanwhile. */
const MAX_CONSUMERS = 128;

/** A command, what it writes, and the bodies of the consumers' rows. */
interface Commit {
  readonly command: AllocationCommand;
  readonly write: WriteAllocations;
  readonly bodies: readonly ConsumerBody[];
}

/** What `lua/claim.lua` returns: of the commits that were made, then a refusal for each other one. */
type ClaimReply = [revision: string, rows: string, firstClaimToken: string, ...RefusalReply[]];
type RefusalReply = readonly [i: number, kind: string, ...details: string[]];

/**
 * Commits of allocations: those of one tick in one run of the script (group commit, as databases do it).
 *
 * The naive way runs the script for each. Under load a scheduler decides dozens of requests in a tick, and for each of
 * them the run itself, its record in the stream and what every mirror does with that cost more than the claim. Here they
 * share the run, the revision and the record; each is made or refused by itself, in order, with a claim token of its own.
 * What it costs: when the connection breaks, the outcome of all commits of the batch is unknown. `decisions/` has the
 * figures.
 *
 * @returns what commits one of them; it throws BerthError as `checkedWrites` and `RedisClient.run`
 */
export function groupCommit(
  client: RedisClient,
  script: LuaScript,
  { revision, changes, usage, inventory, consumer, resource_class, counters, claimToken, birth }: Keys,
  streamLength: number,
): (command: AllocationCommand) => Promise<CommitResult> {
  const keys = [revision, changes, usage, inventory, consumer, resource_class, counters, claimToken, birth];
  const sizeOf = ({ write }: Commit) => write.consumers.length;
  const commit = batchPerTick(MAX_CONSUMERS, sizeOf, async (batch): Promise<CommitResult[]> => {
    const args = [streamLength, batch.length, ...batch.flatMap(argsOf)];
    return resultsOf(batch, (await client.runScript(script, keys, args)) as ClaimReply);
  });
  return (command) => {
    const write = asWrite(command);
    return commit({ command, write, bodies: write.consumers.map((one) => bodyOf(one, command.atMs)) });
  };
}

function resultsOf(
  batch: readonly Commit[],
  [revision, rows, firstClaimToken, ...refusals]: ClaimReply,
): CommitResult[] {
  const refused = new Map(refusals.map((refusal) => [refusal[0] - 1, decodeRefusal(refusal)]));
  const known = new Map<string, { readonly uuid: string; readonly body: ConsumerBody }>();
  for (const [i, { write, bodies }] of batch.entries()) {
    if (refused.has(i)) continue;
    for (const [n, { uuid }] of write.consumers.entries()) known.set(uuid, { uuid, body: bodies[n] as ConsumerBody });
  }
  const change = refused.size < batch.length ? decodeChange(Number(revision), rows, known) : undefined;
  let claimToken = Number(firstClaimToken);
  return batch.map(({ command }, i) => {
    const refusal = refused.get(i);
    return refusal
      ? asReleased(command, refusal)
      : { kind: 'committed', change: change as Change, claimToken: claimToken++ };
  });
}

/**
 * One commit as `lua/claim.lua` takes it. Few arguments with several words each: a client and a server spend more on an
 * argument than on a word.
 */
function argsOf({ command, write: { consumers, force = false }, bodies }: Commit): string[] {
  const args = [`${command.atMs} ${force ? 1 : 0} ${consumers.length}`];
  for (const [n, write] of consumers.entries()) {
    const { uuid, expect, raisesReleased = false, owner } = write;
    args.push(uuid, `${expect.kind} ${expected(expect)} ${raisesReleased ? 1 : 0} ${owner}`);
    if (isEmpty(write)) args.push('', '');
    else args.push(encodeBody(bodies[n] as ConsumerBody), membershipOf(write));
  }
  return args;
}

function expected(guard: ConsumerGuard): string | number {
  switch (guard.kind) {
    case 'any':
    case 'absent':
      return '';
    case 'generation':
      return guard.generation;
    case 'claim':
      return guard.claimToken;
  }
}

/** The names are given by clients, who may put spaces in them. */
function membershipOf({ projectId, group: membership }: ConsumerWrite): string {
  if (!membership) return '';
  const { group, host, spread } = membership;
  const lengths = `${Buffer.byteLength(projectId)} ${Buffer.byteLength(group.id)}`;
  const rules = group.spread
    ? JSON.stringify([group.spread.by, group.spread.maxSkew, spread?.domain ?? null, spread?.among ?? []])
    : '';
  return `${group.policy} ${group.maxPerHost} ${host} ${lengths}\n${projectId}${group.id}${rules}`;
}

function decodeRefusal([, kind, a = '', b = '', c = '', d = '']: RefusalReply): RefusedCommit {
  switch (kind) {
    case 'unchanged':
      return { kind };
    case 'generation':
      return { kind, subject: 'consumer', uuid: a, present: b === '' ? undefined : Number(b) };
    case 'not_found':
      return { kind, subject: a as Subject, key: b };
    case 'capacity': {
      const usage = asUsage(a, decodeRow('usage', a, d));
      return { kind, providerUuid: a, resourceClass: b, refusal: c as CapacityRefusal, usage };
    }
    case 'owner':
      return { kind, uuid: a, owner: b as ConsumerOwner };
    case 'group':
      return { kind, groupId: a, host: b };
  }
  throw new BerthError('internal', 'store_reply', `a script answered '${kind}'`);
}
