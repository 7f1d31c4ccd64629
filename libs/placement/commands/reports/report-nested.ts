import { isNestedUuidOf } from '../../port/nested-provider';
import type { HostReport, NestedReport, ReportResult } from '../../port/placement-store';
import { putTree, removeProvider } from '../providers';
import type { StoredProvider } from '../tables';
import type { Transaction } from '../transaction';
import { mergeReport, withKept } from './merge-report';
import { inUse, putReported } from './report-provider';

/** Outcome: a refusal, or true if the store now equals the report, with nothing extra in use. */
export type NestedOutcome =
  | Extract<ReportResult, { kind: 'exists' }>
  | { readonly kind: 'done'; readonly isSettled: boolean };

type Rows = ReadonlyMap<string, StoredProvider>;

/**
 * Makes what is nested in a host's root provider what its agent says: creates providers, moves them below other parents, and
 * takes those away that the agent reports no more. One of these that is in use, or of which operators or clients decided
 * something, stays with nothing left to claim, and goes with a later report: whatever runs there keeps what it holds. What
 * clients of the placement API have nested in the host is left alone.
 */
export async function reportNested(
  tx: Transaction,
  { providerUuid, nested = [], atMs }: HostReport,
  root: StoredProvider | undefined,
): Promise<NestedOutcome> {
  const rootUuid = root?.rootUuid ?? providerUuid;
  const members = (await tx.get('tree', rootUuid))?.members ?? [rootUuid];
  const reported = new Set(nested.map(({ uuid }) => uuid));
  const others = members.filter((uuid) => uuid !== providerUuid && !reported.has(uuid));
  if (reported.size + others.length === 0) return { kind: 'done', isSettled: true };
  const found = await tx.getAll('provider', [...reported, ...others]);
  const rows: Rows = new Map(found.filter((row) => row !== undefined).map((row) => [row.uuid, row]));
  const taken = await findTaken(tx, nested, rows, rootUuid);
  if (taken !== undefined) return { kind: 'exists', subject: 'provider', key: taken };
  let isSettled = true;
  for (const one of nested) {
    const row = rows.get(one.uuid);
    const kept = await inUse(tx, row, one.inventories);
    if (Object.keys(kept).length > 0) isSettled = false;
    const { uuid, name, parentUuid, device } = one;
    const merged = mergeReport(withKept(one, kept), row);
    putReported(tx, { uuid, name, parentUuid, rootUuid, host: undefined, device }, merged, { provider: row, atMs });
  }
  const gone = others
    .map((uuid) => rows.get(uuid))
    .filter((row) => row?.reported !== undefined && isNestedUuidOf(providerUuid, row.uuid)) as StoredProvider[];
  const removed = await removable(tx, gone, nested, rows);
  for (const row of gone) {
    if (removed.has(row.uuid)) removeProvider(tx, row);
    else putReported(tx, row, mergeReport(withKept(NOTHING, ownInventories(row)), row), { provider: row, atMs });
  }
  const next = [...new Set([...members, ...reported])].filter((uuid) => !removed.has(uuid));
  if (next.length !== members.length || removed.size > 0) putTree(tx, rootUuid, next);
  return { kind: 'done', isSettled: isSettled && removed.size === gone.length };
}

const NOTHING = { inventories: {}, traits: [], aggregates: undefined };

/** The uuid or the name of a nested provider that somebody else has. */
async function findTaken(
  tx: Transaction,
  nested: readonly NestedReport[],
  rows: Rows,
  rootUuid: string,
): Promise<string | undefined> {
  const elsewhere = nested.find(({ uuid }) => {
    const row = rows.get(uuid);
    return row !== undefined && (row.rootUuid !== rootUuid || row.host !== undefined);
  });
  if (elsewhere) return elsewhere.uuid;
  const names = nested.filter(({ uuid }) => !rows.has(uuid)).map(({ name }) => name);
  const holders = await tx.getAll('name', names);
  return names.find((_, n) => holders[n] !== undefined);
}

/** The missing providers that nothing depends on, leaves first. */
async function removable(
  tx: Transaction,
  gone: readonly StoredProvider[],
  nested: readonly NestedReport[],
  rows: Rows,
): Promise<ReadonlySet<string>> {
  const removed = new Set<string>();
  const usages = await tx.getAll(
    'usage',
    gone.map(({ uuid }) => uuid),
  );
  const free = gone.filter((row, n) => Object.keys(usages[n]?.used ?? {}).length === 0 && !hasOthersWord(row));
  const parents = new Map([...rows.values(), ...nested].map(({ uuid, parentUuid }) => [uuid, parentUuid]));
  for (let before = -1; before !== removed.size; ) {
    before = removed.size;
    const needed = new Set(parents.values());
    for (const { uuid } of free) {
      if (needed.has(uuid)) continue;
      removed.add(uuid);
      parents.delete(uuid);
    }
  }
  return removed;
}

/** True if operators or clients wrote something of a provider that no report brings back. */
function hasOthersWord({
  reported,
  decided = {},
  tainted = {},
  inventories,
  traits,
  aggregates,
}: StoredProvider): boolean {
  return (
    Object.keys(tainted).length > 0 ||
    Object.values(decided).some((one) => Object.keys(one).length > 0) ||
    Object.keys(inventories).some((name) => reported?.inventories[name] === undefined) ||
    traits.some((name) => !reported?.traits.includes(name)) ||
    aggregates.length > 0
  );
}

function ownInventories({ reported, inventories }: StoredProvider) {
  return Object.fromEntries(Object.entries(inventories).filter(([name]) => reported?.inventories[name] !== undefined));
}
