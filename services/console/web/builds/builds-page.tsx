import type { BuildsPage as Page, PendingBuild, RecentBuild } from '../../api/builds';
import type { Action } from '../../api/stream';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { ColumnChart, Tallies } from '../ui/chart';
import { amounts, number, span, words } from '../ui/format';
import { Ago, Empty, Figure, HostLink, InstanceLink, Loading, Section, State } from '../ui/parts';
import { type Column, VirtualTable } from '../ui/virtual-table';
import { DeadLetters } from './dead-letters';

/** Requests, outcomes, waiting instances, and dead letters. */
export function BuildsPage() {
  useTitle('Builds');
  const page = usePage<Page>('page=builds');
  if (page === undefined) return <Loading what="the builds" />;
  const { rates, pending } = page;
  const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
  const minutes = (rates.stepMs * rates.active.length) / 60_000;
  const ended = sum(rates.active) + sum(rates.error);
  const { timeToActive } = rates;
  return (
    <>
      <h1>Builds</h1>
      <dl class="figures">
        <Figure label="ACTIVE" value={number(sum(rates.active))} note={`in ${minutes} minutes`} />
        <Figure
          label="ERROR"
          value={number(sum(rates.error))}
          note={ended === 0 ? 'of none' : `${((sum(rates.error) / ended) * 100).toFixed(1)}% of ${number(ended)}`}
          tone={sum(rates.error) > 0 ? 'bad' : ''}
        />
        <Figure
          label="On an alternate"
          value={number(sum(rates.retried))}
          note={ended === 0 ? 'of none' : `${((sum(rates.retried) / ended) * 100).toFixed(1)}% of ${number(ended)}`}
        />
        <Figure
          label="Time to ACTIVE"
          value={timeToActive.count === 0 ? '–' : span(timeToActive.p50Ms)}
          note={
            timeToActive.count === 0 ? 'none yet' : `p90 ${span(timeToActive.p90Ms)}, p99 ${span(timeToActive.p99Ms)}`
          }
        />
        <Figure
          label="Pending"
          value={number(pending.count)}
          note="wait for capacity"
          tone={pending.count > 0 ? 'warn' : ''}
        />
        <Figure
          label="Dead letters"
          value={page.deadLetters < 0 ? '?' : number(page.deadLetters)}
          note="could not be handled"
          tone={page.deadLetters > 0 ? 'warn' : ''}
        />
      </dl>
      <Section title="Rates">
        <ColumnChart
          label={`Ended, every ${rates.stepMs / 1_000} s`}
          stepMs={rates.stepMs}
          series={[
            { label: 'ACTIVE', values: rates.active, colour: 2 },
            { label: 'ERROR', values: rates.error, colour: 3 },
          ]}
        />
        <ColumnChart
          label={`Requested, every ${rates.stepMs / 1_000} s`}
          stepMs={rates.stepMs}
          series={[{ label: 'requested', values: rates.requested, colour: 1 }]}
        />
      </Section>
      <div class="columns">
        <Section title="Why builds ended in ERROR">
          <Tallies label="Reasons of errors" rows={rates.faults} empty="None did in these minutes." />
        </Section>
        <Section title="Why attempts failed">
          <Tallies label="Reasons of failed attempts" rows={rates.failedAttempts} empty="None did in these minutes." />
        </Section>
      </div>
      <Section title="Pending, in order" aside={number(pending.count)}>
        {pending.first.length === 0 ? (
          <Empty>Nothing waits for capacity.</Empty>
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
          <Empty>None has ended since the console started.</Empty>
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
      <Section title="What operators did">
        {page.actions.length === 0 ? (
          <Empty>Nothing by a console, since this one started.</Empty>
        ) : (
          <VirtualTable
            label="Actions of operators"
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
  { key: 'project', head: 'Project', width: 'minmax(4rem, 0.6fr)', cell: ({ projectId }) => projectId },
  { key: 'priority', head: 'Priority', width: '4.5rem', isNumber: true, cell: ({ priority }) => priority },
  { key: 'resources', head: 'Asks for', width: 'minmax(12rem, 1.4fr)', cell: ({ resources }) => amounts(resources) },
  {
    key: 'waits',
    head: 'Waits for',
    width: 'minmax(9rem, 1.2fr)',
    cell: ({ waitsFor }) => <span title={waitsFor.join(', ')}>{waitsFor.join(', ')}</span>,
  },
  { key: 'since', head: 'Since', width: '6rem', cell: ({ sinceMs }) => <Ago ms={sinceMs} /> },
];

const RECENT_COLUMNS: readonly Column<RecentBuild>[] = [
  {
    key: 'name',
    head: 'Instance',
    width: 'minmax(7rem, 1fr)',
    cell: ({ uuid, name }) => <InstanceLink uuid={uuid} name={name} />,
  },
  { key: 'state', head: 'State', width: '8rem', cell: ({ state }) => <State state={state} /> },
  { key: 'host', head: 'Host', width: 'minmax(6rem, 0.8fr)', cell: ({ host }) => <HostLink host={host} /> },
  { key: 'project', head: 'Project', width: 'minmax(4rem, 0.6fr)', cell: ({ projectId }) => projectId },
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
