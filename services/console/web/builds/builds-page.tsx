import {
  BUILD_RANGES,
  type BuildRange,
  type BuildsPage as Page,
  type PendingBuild,
  type RecentBuild,
} from '../../api/builds';
import type { Action } from '../../api/stream';
import { link, usePlace } from '../state/router';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { ColumnChart, Tallies } from '../ui/chart';
import { amounts, number, span, stateName, words } from '../ui/format';
import { Ago, Empty, Figure, HostLink, InstanceLink, Loading, ProjectLink, Section, State } from '../ui/parts';
import { RangeSelect } from '../ui/range-select';
import { type Column, VirtualTable } from '../ui/virtual-table';
import { DeadLetters } from './dead-letters';

/** Requests, outcomes, waiting instances, and dead letters. */
export function BuildsPage() {
  useTitle('Builds');
  const { query } = usePlace();
  const range = (query.get('range') ?? '10m') as BuildRange;
  const page = usePage<Page>(`page=builds&range=${encodeURIComponent(range)}`);
  if (page === undefined) return <Loading what="the builds" />;
  const { rates, pending, inError } = page;
  const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
  const within = WITHIN[rates.range];
  const [active, failed, retried] = [sum(rates.active), sum(rates.error), sum(rates.retried)];
  const ended = active + failed;
  const shareOf = (count: number) =>
    ended === 0 ? `no build ended in ${within}` : `${((count / ended) * 100).toFixed(1)}% of ${number(ended)} builds`;
  const { timeToActive } = rates;
  const step = rates.stepMs < 60_000 ? `${rates.stepMs / 1_000} s` : span(rates.stepMs);
  const listed = (values: Readonly<Record<string, string>>) => link('/instances', { ...values, since: rates.range });
  return (
    <>
      <h1>Builds</h1>
      <dl class="figures">
        <Figure
          label="In ERROR now"
          value={number(inError)}
          note="instances, whenever they failed"
          tone={inError > 0 ? 'bad' : ''}
          href="/instances?state=error"
        />
        <Figure label="Built" value={number(active)} note={`in ${within}`} href={listed({ state: 'active' })} />
        <Figure
          label="Failed"
          value={number(failed)}
          note={shareOf(failed)}
          tone={failed > 0 ? 'bad' : ''}
          href={listed({ state: 'error' })}
        />
        <Figure label="On an alternate" value={number(retried)} note={shareOf(retried)} href={listed({ tried: '2' })} />
        <Figure
          label="Time to ACTIVE"
          value={timeToActive.count === 0 ? '–' : span(timeToActive.p50Ms)}
          note={
            timeToActive.count === 0
              ? 'no build yet'
              : `median; p90 ${span(timeToActive.p90Ms)}, p99 ${span(timeToActive.p99Ms)}`
          }
        />
        <Figure
          label="Pending"
          value={number(pending.count)}
          note="wait for capacity"
          tone={pending.count > 0 ? 'warn' : ''}
          href="/instances?state=pending"
        />
        <Figure
          label="Dead letters"
          value={page.deadLetters < 0 ? '?' : number(page.deadLetters)}
          note={page.deadLetters < 0 ? 'the broker does not answer' : 'messages no service could handle'}
          tone={page.deadLetters > 0 ? 'warn' : ''}
          href="#dead-letters"
        />
      </dl>
      <Section title="Rates" aside={<RangeSelect ranges={RANGES} standard="10m" />}>
        <ColumnChart
          label={`Ended, every ${step}`}
          stepMs={rates.stepMs}
          firstMs={rates.firstMs}
          series={[
            { label: 'ACTIVE', values: rates.active, colour: 2 },
            { label: 'ERROR', values: rates.error, colour: 3 },
          ]}
        />
        <ColumnChart
          label={`Requested, every ${step}`}
          stepMs={rates.stepMs}
          firstMs={rates.firstMs}
          series={[{ label: 'requested', values: rates.requested, colour: 1 }]}
        />
        <p class="note">
          The console counts builds while it runs. <a href="/instances">Instances</a> lists earlier ones.
        </p>
      </Section>
      <div class="columns">
        <Section title="Why builds failed">
          <Tallies
            label="Reasons of failed builds"
            rows={rates.faults}
            hrefOf={(reason) => listed({ state: 'error', reason })}
            empty={`No failed builds in ${within}.`}
          />
        </Section>
        <Section title="Why attempts failed">
          <Tallies
            label="Reasons of failed attempts"
            rows={rates.failedAttempts}
            hrefOf={(attempt) => listed({ attempt })}
            empty={`No failed attempts in ${within}.`}
          />
        </Section>
      </div>
      <Section title="Pending, in order" aside={<a href="/instances?state=pending">{number(pending.count)}</a>}>
        {pending.first.length === 0 ? (
          <Empty>No instance waits for capacity.</Empty>
        ) : (
          <VirtualTable
            label="Pending instances in order"
            columns={PENDING_COLUMNS}
            rows={pending.first}
            keyOf={({ uuid }) => uuid}
            height="360px"
          />
        )}
      </Section>
      <Section title="Recent builds">
        {page.recent.length === 0 ? (
          <Empty>No build has ended since the console started.</Empty>
        ) : (
          <VirtualTable
            label="Recent builds"
            columns={RECENT_COLUMNS}
            rows={page.recent}
            keyOf={({ uuid, state }) => `${uuid} ${state}`}
            height="360px"
          />
        )}
      </Section>
      <DeadLetters count={page.deadLetters} />
      <Section title="Activity log" id="activity-log">
        {page.actions.length === 0 ? (
          <Empty>Nobody has acted in a console since this one started.</Empty>
        ) : (
          <VirtualTable
            label="Activity log"
            columns={ACTION_COLUMNS}
            rows={page.actions}
            keyOf={({ id }) => id}
            height="300px"
          />
        )}
      </Section>
    </>
  );
}

const PENDING_COLUMNS: readonly Column<PendingBuild>[] = [
  { key: 'place', head: 'Place', width: '3.5rem', isNumber: true, cell: ({ place }) => place || '–' },
  {
    key: 'name',
    head: 'Instance',
    width: 'minmax(7rem, 1fr)',
    cell: ({ uuid, name }) => <InstanceLink uuid={uuid} name={name} />,
  },
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

const WITHIN: Readonly<Record<BuildRange, string>> = {
  '10m': 'the last 10 minutes',
  '1h': 'the last hour',
  '6h': 'the last 6 hours',
  '24h': 'the last 24 hours',
};

const RANGES = BUILD_RANGES.map((range) => [range, WITHIN[range]] as const);

const RECENT_COLUMNS: readonly Column<RecentBuild>[] = [
  {
    key: 'name',
    head: 'Instance',
    width: 'minmax(7rem, 1fr)',
    cell: ({ uuid, name }) => <InstanceLink uuid={uuid} name={name} />,
  },
  { key: 'state', head: 'State', width: '8rem', cell: ({ state }) => <State state={state} label={stateName(state)} /> },
  { key: 'host', head: 'Host', width: 'minmax(6rem, 0.8fr)', cell: ({ host }) => <HostLink host={host} /> },
  {
    key: 'project',
    head: 'Project',
    width: 'minmax(4rem, 0.6fr)',
    cell: ({ projectId }) => <ProjectLink id={projectId} />,
  },
  { key: 'attempts', head: 'Attempts', width: '5rem', isNumber: true, cell: ({ attempts }) => attempts },
  { key: 'took', head: 'Took', width: '5rem', isNumber: true, cell: ({ tookMs }) => span(tookMs) },
  {
    key: 'reason',
    head: 'Reason',
    width: 'minmax(10rem, 1.6fr)',
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
  { key: 'at', head: 'Ended', width: '6rem', cell: ({ atMs }) => <Ago ms={atMs} /> },
];

const ACTION_COLUMNS: readonly Column<Action>[] = [
  { key: 'at', head: 'When', width: '6rem', cell: ({ atMs }) => <Ago ms={atMs} /> },
  { key: 'who', head: 'Who', width: 'minmax(5rem, 0.6fr)', cell: ({ userId }) => userId },
  { key: 'what', head: 'Action', width: 'minmax(8rem, 0.9fr)', cell: ({ action }) => words(action) },
  {
    key: 'target',
    head: 'On',
    width: 'minmax(8rem, 1fr)',
    cell: ({ action, target }) => {
      if (action.startsWith('host_')) return <HostLink host={target} />;
      return action.startsWith('instance_') ? <InstanceLink uuid={target} name="" /> : target;
    },
  },
  {
    key: 'result',
    head: 'Result',
    width: 'minmax(10rem, 1.6fr)',
    cell: ({ error, details }) =>
      error ? (
        <>
          <State state="refused" /> {error.message}
        </>
      ) : (
        <>
          <State state="active" label="done" /> <span class="faint">{Object.values(details).join(', ')}</span>
        </>
      ),
  },
];
