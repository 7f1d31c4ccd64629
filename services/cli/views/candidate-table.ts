import type { AllocationRequest, CandidatesDocument, ProviderDocument } from '../client/placement-documents';
import { classesOf, type Group } from '../commands/group-flag';
import { compareClasses } from './fill';
import { bar, table } from './table';
import type { Terminal } from './terminal';

/** A candidate's allocation of one class from one provider, with its groups. */
export interface AllocationLine {
  /** Suffixes of the groups; '' is the unnumbered group. */
  readonly groups: readonly string[];
  readonly providerUuid: string;
  /** Undefined for a group without resources, which only names a provider. */
  readonly taken: { readonly resourceClass: string; readonly amount: number } | undefined;
}

/** Candidates, with a line per allocation: the provider's usage with it, and the rest. */
export function candidateTable(
  terminal: Terminal,
  found: CandidatesDocument,
  groups: readonly Group[],
  providers: ReadonlyMap<string, ProviderDocument>,
): string {
  const hasNames = groups.some(({ suffix }) => suffix !== '');
  const hasIds = found.allocation_requests.some(({ id }) => id !== undefined);
  const rows = found.allocation_requests.flatMap((candidate, i) =>
    allocationLinesOf(candidate, groups).map((allocation, line, all) => {
      const isSameProvider = all[line - 1]?.providerUuid === allocation.providerUuid;
      const place = isSameProvider ? ['', ''] : placeCells(terminal, allocation, found, providers);
      return [
        line === 0 ? terminal.colours.bold(`#${i + 1}`) : '',
        ...(hasNames ? [allocation.groups.map((suffix) => suffix || '-').join(' ')] : []),
        ...place,
        ...amountCells(terminal, allocation, found),
        ...(hasIds ? [line === 0 ? (candidate.id ?? '') : ''] : []),
      ];
    }),
  );
  const head = ['', ...(hasNames ? ['GROUP'] : []), 'PROVIDER', 'UNDER', 'CLASS', 'TAKES', 'FILL AFTER', 'LEFT'];
  return table(terminal, [...head, ...(hasIds ? ['ID'] : [])], rows);
}

/** A candidate's allocations, by group, then by class. */
export function allocationLinesOf(
  { allocations, mappings }: AllocationRequest,
  groups: readonly Group[],
): AllocationLine[] {
  const isMetBy = ({ suffix }: Group, uuid: string) => mappings[suffix]?.includes(uuid) === true;
  const amounts = Object.entries(allocations).flatMap(([providerUuid, { resources }]) =>
    Object.entries(resources).map(([resourceClass, amount]): AllocationLine => {
      const served = groups.filter((group) => isMetBy(group, providerUuid) && classesOf(group).includes(resourceClass));
      return { groups: served.map(({ suffix }) => suffix), providerUuid, taken: { resourceClass, amount } };
    }),
  );
  const bare = groups
    .filter((group) => classesOf(group).length === 0)
    .flatMap(({ suffix }) =>
      (mappings[suffix] ?? []).map(
        (providerUuid): AllocationLine => ({ groups: [suffix], providerUuid, taken: undefined }),
      ),
    );
  const rank = ({ groups: [first] }: AllocationLine) => groups.findIndex(({ suffix }) => suffix === first);
  const classOf = ({ taken }: AllocationLine) => taken?.resourceClass ?? '';
  return [...amounts, ...bare].sort((a, b) => rank(a) - rank(b) || compareClasses(classOf(a), classOf(b)));
}

function placeCells(
  terminal: Terminal,
  { providerUuid }: AllocationLine,
  { provider_summaries: summaries }: CandidatesDocument,
  providers: ReadonlyMap<string, ProviderDocument>,
): string[] {
  const nameOf = (uuid: string) => providers.get(uuid)?.name ?? uuid;
  const root = summaries[providerUuid]?.root_provider_uuid ?? providerUuid;
  return [nameOf(providerUuid), root === providerUuid ? terminal.colours.dim('-') : nameOf(root)];
}

function amountCells(
  terminal: Terminal,
  { providerUuid, taken }: AllocationLine,
  { provider_summaries: summaries }: CandidatesDocument,
): (string | number)[] {
  if (taken === undefined) return [terminal.colours.dim('-'), '', '', ''];
  const { resourceClass, amount } = taken;
  const summary = summaries[providerUuid]?.resources[resourceClass];
  if (summary === undefined) return [resourceClass, amount, '', ''];
  const used = summary.used + amount;
  return [resourceClass, amount, bar(terminal, used, summary.capacity), summary.capacity - used];
}
