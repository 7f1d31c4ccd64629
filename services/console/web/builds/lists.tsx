import type { BuildsPage, PendingBuild, RecentBuild } from '../../api/builds';
import { INSTANCE_COLUMN } from '../ui/columns';
import { amounts, number, shareOfFleet, span, standingWords, stateName } from '../ui/format';
import { Ago, Attempts, HostLink, ProjectLink, Section, State } from '../ui/parts';
import { type Column, VirtualTable } from '../ui/virtual-table';

/** Instances that wait for capacity, in the order of their turns. */
export function Pending({ pending }: { pending: BuildsPage['pending'] }) {
  return (
    <Section title="Pending, in order" aside={<a href="/instances?state=pending">{number(pending.count)}</a>}>
      <VirtualTable
        label="Pending instances in order"
        columns={pending.first?.some(({ standing }) => standing) ? STANDING_COLUMNS : PENDING_COLUMNS}
        rows={pending.first ?? []}
        keyOf={({ uuid }) => uuid}
        height="360px"
        empty={
          pending.first === undefined
            ? 'The order is unknown: no conductor answers.'
            : 'No instance waits for capacity.'
        }
      />
    </Section>
  );
}

/** The builds that ended last. */
export function Recent({ recent }: { recent: readonly RecentBuild[] }) {
  return (
    <Section title="Recent builds" id="recent-builds">
      <VirtualTable
        label="Recent builds"
        columns={RECENT_COLUMNS}
        rows={recent}
        keyOf={({ uuid, state }) => `${uuid} ${state}`}
        height="360px"
        empty="No build has ended since the console started."
      />
    </Section>
  );
}

const STANDING_COLUMN: Column<PendingBuild> = {
  key: 'standing',
  head: 'Stands by',
  width: '6rem',
  isNumber: true,
  cell: ({ standing }) => standing && <span title={standingWords(standing)}>{shareOfFleet(standing.number)}</span>,
};

const PENDING_COLUMNS: readonly Column<PendingBuild>[] = [
  { key: 'place', head: 'Place', width: '3.5rem', isNumber: true, cell: ({ place }) => place || '–' },
  INSTANCE_COLUMN,
  {
    key: 'project',
    head: 'Project',
    width: 'minmax(4rem, 0.6fr)',
    cell: ({ projectId }) => <ProjectLink id={projectId} />,
  },
  { key: 'priority', head: 'Priority', width: '4.5rem', isNumber: true, cell: ({ priority }) => priority },
  { key: 'resources', head: 'Asks for', width: 'minmax(12rem, 1.4fr)', cell: ({ resources }) => amounts(resources) },
  {
    key: 'waits',
    head: 'Waits for',
    width: 'minmax(9rem, 1.2fr)',
    cell: ({ waitsFor }) => <span title={waitsFor.join(', ')}>{waitsFor.join(', ')}</span>,
  },
  { key: 'since', head: 'Since', width: '6rem', cell: ({ sinceMs }) => <Ago ms={sinceMs} /> },
  {
    key: 'why',
    head: 'Why',
    width: '5rem',
    cell: ({ explain, name }) => (
      <a href={`/explain?${explain}`} aria-label={`Explain ${name}`}>
        Explain
      </a>
    ),
  },
];

/** The same, where they go by what their projects use and used lately. */
const STANDING_COLUMNS = PENDING_COLUMNS.flatMap((column) =>
  column.key === 'priority' ? [column, STANDING_COLUMN] : [column],
);

const RECENT_COLUMNS: readonly Column<RecentBuild>[] = [
  INSTANCE_COLUMN,
  { key: 'state', head: 'State', width: '8rem', cell: ({ state }) => <State state={state} label={stateName(state)} /> },
  { key: 'host', head: 'Host', width: 'minmax(6rem, 0.8fr)', cell: ({ host }) => <HostLink host={host} /> },
  {
    key: 'project',
    head: 'Project',
    width: 'minmax(4rem, 0.6fr)',
    cell: ({ projectId }) => <ProjectLink id={projectId} />,
  },
  {
    key: 'attempts',
    head: 'Attempts',
    width: '5rem',
    isNumber: true,
    cell: ({ uuid, attempts }) => <Attempts uuid={uuid} count={attempts} />,
  },
  {
    key: 'took',
    head: 'Took',
    width: '5rem',
    isNumber: true,
    cell: ({ uuid, tookMs }) => <a href={`/instances/${uuid}#story`}>{span(tookMs)}</a>,
  },
  {
    key: 'reason',
    head: 'Reason',
    width: 'minmax(10rem, 1.6fr)',
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
  { key: 'at', head: 'Ended', width: '6rem', cell: ({ atMs }) => <Ago ms={atMs} /> },
];
