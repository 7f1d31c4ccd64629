import { listGroupsMethod } from '#libs/contracts/groups';
import { BerthError } from '#libs/domain/errors';
import { budgetText, isAvailable, leastAvailable } from '#libs/domain/grouping/disruption-budget';
import type { Instance } from '#libs/domain/instance';
import { groupKey } from '#libs/domain/server-group';
import { counted } from '#libs/runtime/counted';
import { groupBy } from '#libs/runtime/group-by';
import type { ConductorContext } from '../context';
import { callScheduler } from './call-scheduler';
import { openRequest } from './claims';

/** Longer than it takes to put a disruption on record. A conductor that stands still for longer may disrupt one member too many. */
const LEASE_MS = 10_000;

/**
 * Disrupts members of groups if the budget of each group allows all of them; otherwise none. `disrupt` returns once that
 * is on record, where the next one counts it.
 *
 * Two conductors that count at the same time would both find the last member that may go. So whoever disrupts a member
 * holds its group's lease meanwhile, and the other is refused like one that comes too early. (Kubernetes writes the names of
 * evicted pods into the budget instead, which here would be one more row to forget.)
 *
 * @throws BerthError `resource_exhausted / disruption_budget`, with what it waits for.
 */
export async function withinBudget<T>(
  c: ConductorContext,
  records: readonly Instance[],
  disrupt: () => Promise<T>,
): Promise<T> {
  const members = records.filter(isAvailable).flatMap(({ projectId, allocationRequest }) => {
    const name = openRequest(c, allocationRequest)?.group?.id;
    return name === undefined ? [] : [{ projectId, name }];
  });
  const groups = [...groupBy(members, ({ projectId, name }) => groupKey(projectId, name))];
  const holder = c.random.uuid();
  const held: string[] = [];
  try {
    // In one order, so that no two wait for each other's groups.
    for (const [key, leaving] of groups.sort(([a], [b]) => (a < b ? -1 : 1))) {
      const budget = await budgetOf(c, leaving);
      if (budget === undefined) continue;
      const lease = `disruption ${key}`;
      if (!(await c.leases.acquire(lease, holder, LEASE_MS)))
        throw refused(budget, 'another member is being disrupted');
      held.push(lease);
      await requireSpare(c, budget, leaving.length);
    }
    return await disrupt();
  } finally {
    for (const lease of held) await c.leases.release(lease, holder);
  }
}

interface Member {
  readonly projectId: string;
  /** The name of its group. */
  readonly name: string;
}

interface Budget {
  readonly group: string;
  readonly text: string;
  readonly least: number;
  readonly members: readonly string[];
}

/** Undefined for a group that is not stored, or has no budget. */
async function budgetOf(c: ConductorContext, [member]: readonly Member[]): Promise<Budget | undefined> {
  if (member === undefined) return undefined;
  const { name } = member;
  const all = { markerProjectId: '', markerName: '', limit: 1 };
  try {
    const { groups, members } = await callScheduler(c, listGroupsMethod, { ...member, ...all });
    const [group] = groups;
    const least = group && leastAvailable(group.metadata, group.memberCount);
    return least === undefined ? undefined : { group: name, text: budgetText(group?.metadata ?? {}), least, members };
  } catch (thrown) {
    if (BerthError.from(thrown).reason === 'no_such_group') return undefined;
    throw thrown;
  }
}

async function requireSpare(c: ConductorContext, budget: Budget, leavingCount: number): Promise<void> {
  const records = await c.instances.get(budget.members);
  const available = records.filter(isAvailable).length;
  if (available - leavingCount >= budget.least) return;
  const others = records.filter((record) => !isAvailable(record));
  const waitsFor = others.slice(0, MAX_NAMED).map(({ name, uuid, state }) => `${name || uuid} (${state})`);
  throw refused(
    budget,
    `${counted(available, 'member')} of ${budget.members.length} ${available === 1 ? 'is' : 'are'} available` +
      (waitsFor.length === 0 ? '' : `; it waits for ${waitsFor.join(', ')}`),
  );
}

const MAX_NAMED = 5;

function refused({ group, text }: Budget, why: string): BerthError {
  const message = `the budget of group ${group} (${text}) allows no disruption now: ${why}`;
  return new BerthError('resource_exhausted', 'disruption_budget', message, { details: { group } });
}
