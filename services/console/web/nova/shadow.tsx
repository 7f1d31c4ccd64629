import type { ShadowDifference, ShadowTimes, ShadowView } from '../../api/nova';
import { link } from '../state/router';
import { number, percent, span, words } from '../ui/format';
import { Ago, Empty, type Fact, Facts } from '../ui/parts';
import { type Column, VirtualTable } from '../ui/virtual-table';

/** The report of a shadow: agreement, times, and the last differences with their reasons. */
export function Shadow({ shadow }: { shadow: ShadowView }) {
  if (shadow.kind === 'none') {
    return (
      <Empty>
        Set BERTH_CONSOLE_NOVA_SHADOW_URL to the operations endpoint of a scheduler for Nova with
        BERTH_NOVA_SHADOW=true.
      </Empty>
    );
  }
  if (shadow.kind === 'away') return <Empty>The shadow does not answer: {shadow.why}</Empty>;
  const { outcomes, causes, sinceMs, compared, alike, berthTook, novaTook, differences } = shadow;
  const facts: Fact[] = [
    [
      'Chose alike',
      compared === 0 ? '–' : `${percent(alike / compared)}, ${number(alike)} of ${number(compared)} instances`,
    ],
    ['Since', <Ago key="since" ms={sinceMs} />],
    ['Berth took', timesOf(berthTook)],
    ['Nova took', timesOf(novaTook)],
    ...outcomes.map(([outcome, count]): Fact => [words(outcome), number(count)]),
    ...causes.map(([cause, count]): Fact => [`Because of ${words(cause)}`, number(count)]),
  ];
  return (
    <>
      <Facts facts={facts} />
      <VirtualTable
        label="Differences"
        columns={COLUMNS}
        rows={differences}
        keyOf={({ instanceUuid, atMs }) => `${instanceUuid} ${atMs}`}
        height="240px"
        empty="No choice has differed yet."
      />
    </>
  );
}

const COLUMNS: readonly Column<ShadowDifference>[] = [
  {
    key: 'request',
    head: 'Request',
    width: 'minmax(20rem, 1.4fr)',
    cell: ({ requestId }) => <a href={link('/nova', { request: requestId })}>{requestId}</a>,
  },
  { key: 'at', head: 'Decided', width: '6rem', cell: ({ atMs }) => <Ago ms={atMs} /> },
  { key: 'berth', head: 'Berth', width: '8rem', cell: ({ berth }) => berth || 'no host' },
  { key: 'nova', head: 'Nova', width: '8rem', cell: ({ nova }) => nova || 'no host' },
  { key: 'why', head: 'Why', width: 'minmax(12rem, 2fr)', cell: ({ why }) => <span title={why}>{why}</span> },
];

function timesOf(times: ShadowTimes | undefined): string {
  return times === undefined ? '–' : `${span(times.p50Ms)} at the median, ${span(times.p99Ms)} at p99`;
}
