import { bar, type Terminal, table } from '../terminal';
import type { AllocationRequest, CandidatesDocument, ProviderDocument } from './documents';
import { classesOf, type Group } from './request-groups';
import { compareClasses } from './stock';

/** What a candidate takes of one class of a provider, and for which groups. */
export interface Taking {
  /** Suffixes of groups; '' is the one without. */
  readonly groups: readonly string[];
  readonly providerUuid: string;
  /** Undefined: a group without resources only needs the provider to be there. */
  readonly taken: { readonly resourceClass: string; readonly amount: number } | undefined;
}

/** Candidates with a line for each thing that they take, how full its provider would be, and what would be left of it. */
export function candidateTable(
  terminal: Terminal,
  found: CandidatesDocument,
  groups: readonly Group[],
  providers: ReadonlyMap<string, ProviderDocument>,
): string {
  const hasNames = groups.some(({ suffix }) => suffix !== '');
  const rows = found.allocation_requests.flatMap((candidate, i) =>
    takingsOf(candidate, groups).map((taking, line, all) => {
      const isSameProvider = all[line - 1]?.providerUuid === taking.providerUuid;
      const place = isSameProvider ? ['', ''] : placeCells(terminal, taking, found, providers);
      return [
        line === 0 ? terminal.colours.bold(`#${i + 1}`) : '',
        ...(hasNames ? [taking.groups.map((suffix) => suffix || '-').join(' ')] : []),
        ...place,
        ...amountCells(terminal, taking, found),
      ];
    }),
  );
  const head = ['', ...(hasNames ? ['GROUP'] : []), 'PROVIDER', 'UNDER', 'CLASS', 'TAKES', 'FILL AFTER', 'LEFT'];
  return table(terminal, head, rows);
}

/** What a candidate takes, by group, then by class. */
export function takingsOf({ allocations, mappings }: AllocationRequest, groups: readonly Group[]): Taking[] {
  const meets = ({ suffix }: Group, uuid: string) => mappings[suffix]?.includes(uuid) === true;
  const amounts = Object.entries(allocations).flatMap(([providerUuid, { resources }]) =>
    Object.entries(resources).map(([resourceClass, amount]): Taking => {
      const mine = groups.filter((group) => meets(group, providerUuid) && classesOf(group).includes(resourceClass));
      return { groups: mine.map(({ suffix }) => suffix), providerUuid, taken: { resourceClass, amount } };
    }),
  );
  const bare = groups
    .filter((group) => classesOf(group).length === 0)
    .flatMap(({ suffix }) =>
      (mappings[suffix] ?? []).map((providerUuid): Taking => ({ groups: [suffix], providerUuid, taken: undefined })),
    );
  const rank = ({ groups: [first] }: Taking) => groups.findIndex(({ suffix }) => suffix === first);
  const classOf = ({ taken }: Taking) => taken?.resourceClass ?? '';
  return [...amounts, ...bare].sort((a, b) => rank(a) - rank(b) || compareClasses(classOf(a), classOf(b)));
}

function placeCells(
  terminal: Terminal,
  { providerUuid }: Taking,
  { provider_summaries: summaries }: CandidatesDocument,
  providers: ReadonlyMap<string, ProviderDocument>,
): string[] {
  const nameOf = (uuid: string) => providers.get(uuid)?.name ?? uuid;
  const root = summaries[providerUuid]?.root_provider_uuid ?? providerUuid;
  return [nameOf(providerUuid), root === providerUuid ? terminal.colours.dim('-') : nameOf(root)];
}

function amountCells(
  terminal: Terminal,
  { providerUuid, taken }: Taking,
  { provider_summaries: summaries }: CandidatesDocument,
): (string | number)[] {
  if (taken === undefined) return [terminal.colours.dim('-'), '', '', ''];
  const { resourceClass, amount } = taken;
  const room = summaries[providerUuid]?.resources[resourceClass];
  if (room === undefined) return [resourceClass, amount, '', ''];
  const used = room.used + amount;
  return [resourceClass, amount, bar(terminal, used, room.capacity), room.capacity - used];
}
