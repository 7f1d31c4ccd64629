import type { ConsumerOwner } from '../../domain/consumer';
import { BerthError } from '../../domain/errors';
import type { CapacityRefusal } from '../../domain/inventory';
import type { QuotaExcess } from '../../domain/quotas/quota';
import type { RedisClient } from '../../redis/connect';
import type { LuaScript } from '../../redis/scripts';
import { batchPerTick } from '../../runtime/batch-per-tick';
import { type AllocationCommand, asReleased, asWrite } from '../commands/allocation-command';
import { bodyOf, isEmpty } from '../commands/allocations';
import { namedExcess } from '../commands/project-usage';
import { asUsage, type ConsumerBody, projectKey } from '../commands/tables';
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
import type { WriterFacts } from './commit-transaction';
import type { Keys } from './keys';
import { decodeRow, encodeBody } from './row-format';

/** Consumers in one run of the script, beyond those of its first commit: Redis does nothing else meanwhile. */
const MAX_CONSUMERS = 128;

/** Providers of one consumer up to which it counts as one. */
const PROVIDERS_OF_ONE = 4;

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
  k: Keys,
  { streamLength, seen }: WriterFacts,
): (command: AllocationCommand) => Promise<CommitResult> {
  const tables = [k.usage, k.inventory, k.consumer, k.resource_class, k.counters];
  const keys = [
    k.revision,
    k.changes,
    ...tables,
    k.claimToken,
    k.birth,
    k.quota,
    k.cohort,
    k.project_usage,
    k.nomination,
  ];
  const sizeOf = ({ write: { consumers } }: Commit) => consumers.reduce((sum, one) => sum + weightOf(one), 0);
  const commit = batchPerTick(MAX_CONSUMERS, sizeOf, async (batch): Promise<CommitResult[]> => {
    const args = [streamLength, seen.highest, batch.length, ...batch.flatMap(argsOf)];
    return resultsOf(batch, (await client.runScript(script, keys, args)) as ClaimReply);
  });
  return (command) => {
    const write = asWrite(command);
    return commit({ command, write, bodies: write.consumers.map((one) => bodyOf(one, command.atMs)) });
  };
}

function weightOf({ allocations }: ConsumerWrite): number {
  let count = 0;
  for (const _ in allocations) count++;
  return Math.max(1, count / PROVIDERS_OF_ONE);
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
function argsOf({ command, write: whole, bodies }: Commit): string[] {
  const { consumers, force = false, withinTotal = false, withinQuota = false } = whole;
  const args = [`${command.atMs} ${force && withinTotal ? 2 : bit(force)} ${bit(withinQuota)} ${consumers.length}`];
  for (const [n, write] of consumers.entries()) {
    const { uuid, expect, raisesReleased = false, owner, consumerType } = write;
    const guard = `${expect.kind} ${expected(expect)} ${bit(raisesReleased)} ${owner}`;
    const counts = write.counted ? 2 : bit(consumerType === 'INSTANCE');
    args.push(uuid, `${guard} ${counts} ${typeKey(consumerType)} ${projectKey(write.projectId)}`);
    if (isEmpty(write)) args.push('', '');
    else args.push(encodeBody(bodies[n] as ConsumerBody), membershipOf(write));
  }
  return args;
}

/** A consumer's type as one word, '-' for none. */
function typeKey(consumerType = ''): string {
  return /^[A-Z0-9_]+$/.test(consumerType) ? consumerType : '-';
}

function bit(flag: boolean): 0 | 1 {
  return flag ? 1 : 0;
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
  const { group, host, spread, kept } = membership;
  const lengths = `${Buffer.byteLength(projectId)} ${Buffer.byteLength(group.id)}`;
  const { by = null, maxSkew = 0 } = group.spread ?? {};
  const rules = [by, maxSkew, spread?.domain ?? null, spread?.among ?? [], ...(kept ? [kept.movedTo] : [])];
  const suffix = group.spread || kept ? JSON.stringify(rules) : '';
  return `${group.policy} ${group.maxPerHost} ${host} ${lengths}\n${projectId}${group.id}${suffix}`;
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
    case 'nominated':
      return { kind, providerUuid: a, resourceClass: b };
    case 'group':
      return { kind, groupId: a, host: b };
    case 'quota':
      return { kind, excess: namedExcess((JSON.parse(a) as PackedExcess[]).map(unpackExcess)) };
  }
  throw new BerthError('internal', 'store_reply', `a script answered '${kind}'`);
}

type PackedExcess = readonly [
  scope: QuotaExcess['scope'],
  name: string,
  resourceClass: string,
  used: number,
  asked: number,
  limit: number,
];

function unpackExcess([scope, name, resourceClass, used, asked, limit]: PackedExcess): QuotaExcess {
  return { scope, name, resourceClass, used, asked, limit };
}
