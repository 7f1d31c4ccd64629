import { BerthError } from '../../domain/errors';
import type { BackoffLimits } from '../../runtime/backoff';
import { batchPerTick } from '../../runtime/batch-per-tick';
import { type AllocationCommand, asReleased, asWrite, termsOf } from '../commands/allocation-command';
import { decideAllocations } from '../commands/allocations';
import { failedGuard } from '../commands/claims/check-guards';
import type { ClaimTerms } from '../commands/claims/draft';
import type { Guard, Proposal, Reader } from '../commands/transaction';
import type { MirroredRows } from '../port/mirrored-rows';
import type { CommitResult, ConsumerWrite } from '../port/placement-store';
import { ClaimRows } from './claim-rows';
import type { CommitBatch, Outcome } from './commit-batch';

/** Consumers in one run of the script, beyond those of its first commit: Redis does nothing else meanwhile. */
const MAX_CONSUMERS = 128;

/** Providers of one consumer up to which it counts as one. */
const PROVIDERS_OF_ONE = 4;

/**
 * Claims of one cohort, in several processes, fail each other. One of those that meet gets through, so with pauses this many
 * tries, two seconds, mean that something is wrong.
 */
const MAX_ATTEMPTS = 50;
const RETRY: BackoffLimits = { firstMs: 2, maxMs: 50 };

/** Waits before another try, as `RedisClient.pause`. */
type Pause = (failures: number, limits: BackoffLimits) => Promise<void>;

/** A command and what it writes. */
interface Claim {
  readonly command: AllocationCommand;
  readonly consumers: readonly ConsumerWrite[];
  readonly terms: ClaimTerms;
}

/**
 * Commits of allocations: those of one tick in one run of the script (group commit, as databases do it).
 *
 * The naive way decides and commits each by itself. Under load a scheduler decides dozens of requests in a tick, and for each
 * of them the run itself, its record in the stream and what every mirror does with that cost more than the claim. Here they
 * are decided one after the other, each on what those before it make of the rows, and share the run, the revision and the
 * record; each is made or refused by itself, in order, with a claim token of its own. The rows are those of a mirror, so
 * that a claim is one trip; where there is none, or it was out of date, they are read. What it costs: when the connection
 * breaks, the outcome of all commits of the batch is unknown. `decisions/` has the figures.
 *
 * @returns what commits one of them; it throws BerthError as `checkedWrites` and `RedisClient.run`
 */
export function groupCommit(
  commit: CommitBatch,
  reader: Reader,
  mirror: () => MirroredRows | undefined,
  pause: Pause,
): (command: AllocationCommand) => Promise<CommitResult> {
  const sizeOf = ({ consumers }: Claim) => consumers.reduce((sum, one) => sum + weightOf(one), 0);
  const commitInBatch = batchPerTick(MAX_CONSUMERS, sizeOf, (batch: readonly Claim[]) =>
    commitAll(batch, commit, (isFirst) => new ClaimRows(reader, isFirst ? mirror() : undefined), pause),
  );
  return (command) => {
    const write = asWrite(command);
    return commitInBatch({ command, consumers: write.consumers, terms: termsOf(write, command.atMs) });
  };
}

/** Decides claims and commits them; those whose rows have changed meanwhile again, on rows read of the store. */
async function commitAll(
  batch: readonly Claim[],
  commit: CommitBatch,
  rowsFor: (isFirst: boolean) => ClaimRows,
  pause: Pause,
): Promise<CommitResult[]> {
  const results: Outcome[] = Array.from({ length: batch.length }, () => ({ kind: 'conflict' }));
  let waiting = [...batch.keys()];
  for (let attempt = 0; attempt < MAX_ATTEMPTS && waiting.length > 0; attempt++) {
    // The rows of a mirror are often out of date, those that were read seldom.
    if (attempt > 1) await pause(attempt - 1, RETRY);
    const claims = waiting.map((i) => batch[i] as Claim);
    const proposals = await decideAll(claims, rowsFor(attempt === 0));
    for (const [n, outcome] of (await commit(proposals)).entries()) results[waiting[n] as number] = outcome;
    waiting = waiting.filter((i) => results[i]?.kind === 'conflict');
  }
  return results.map((result, i) => {
    if (result.kind === 'conflict') throw new BerthError('aborted', 'contention', 'concurrent commits; try again');
    return result.kind === 'committed' ? result : asReleased((batch[i] as Claim).command, result);
  });
}

async function decideAll(claims: readonly Claim[], rows: ClaimRows): Promise<Proposal[]> {
  for (;;) {
    const proposals = claims.map(({ consumers, terms }, i) => {
      const proposal = decideAllocations(rows, consumers, terms);
      if (claims.length === 1) return proposal;
      const failed = failedGuard(proposal.guards, rows);
      if (failed) return withRefusalNow(proposal, failed);
      if (proposal.refusal) return proposal;
      rows.apply(proposal.writes, i + 1);
      return proposal;
    });
    if (!(await rows.readMissing())) return proposals;
    rows.reset();
  }
}

/** A quota's refusal tells what is used: as the claims before leave it, not those after. */
function withRefusalNow(proposal: Proposal, failed: Guard): Proposal {
  if (failed.kind !== 'amount' || failed.table !== 'project_usage') return proposal;
  const refusal = failed.refusal?.(undefined);
  const guards = proposal.guards.map((guard) => (guard === failed ? { ...failed, refusal: () => refusal } : guard));
  return { ...proposal, guards };
}

function weightOf({ allocations }: ConsumerWrite): number {
  let count = 0;
  for (const _ in allocations) count++;
  return Math.max(1, count / PROVIDERS_OF_ONE);
}
