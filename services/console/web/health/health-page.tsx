import type { AgentRow, CellRow, HealthPage as Page, ProcessRow, QueueRow } from '../../api/health';
import { link } from '../state/router';
import { useHub, usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { dateOf, number, percent, plural, span, words } from '../ui/format';
import { Ago, type Fact, Facts, Figure, Linked, Loading, Section, State } from '../ui/parts';
import { Table, type TableColumn } from '../ui/table';
import { type Column, VirtualTable } from '../ui/virtual-table';

/** The health of Berth itself: its processes, agents, queues, store and cells. */
export function HealthPage() {
  useTitle('Health');
  const page = usePage<Page>('page=health');
  if (page === undefined) return <Loading what="the state of all processes" />;
  const { processes, agents, agentCount, queues, cells, version } = page;
  return (
    <>
      <h1>Health</h1>
      <HealthFigures page={page} />
      <Section title="Processes" id="processes" aside={processes && plural(processes.length, 'process', 'processes')}>
        <VirtualTable
          label="Processes"
          columns={processColumns(version)}
          rows={processes ?? []}
          keyOf={({ service, name }) => `${service} ${name}`}
          height="360px"
          empty={
            processes === undefined
              ? 'The processes are unknown: the store does not answer.'
              : 'No process has announced itself in the store in a day.'
          }
        />
        <p class="note">
          Each process announces itself in the store every ten seconds. This console has version {version}. A process
          that stops in order leaves the list at once, any other after a day.
        </p>
      </Section>
      <div class="columns">
        <Section title="Agents" id="agents" aside={<a href="/fleet?view=list">{number(agentCount)}</a>}>
          <VirtualTable
            label="Agents"
            columns={AGENT_COLUMNS}
            rows={agents}
            keyOf={({ name }) => name}
            height="360px"
            empty="No agent has reported yet."
          />
          {agentCount > agents.length && (
            <p class="note">The first {number(agents.length)}, those with trouble first.</p>
          )}
        </Section>
        <div class="stack">
          <Section title="Queues" id="queues">
            <Table columns={QUEUE_COLUMNS} rows={queues} keyOf={({ name }) => name} />
          </Section>
          <Section title="Store" id="store">
            <StoreOf page={page} />
          </Section>
        </div>
      </div>
      {cells.length > 0 && (
        <Section title="Cells" id="cells" aside={number(cells.length)}>
          <Table columns={CELL_COLUMNS} rows={cells} keyOf={({ name }) => name} />
        </Section>
      )}
    </>
  );
}

const SERVICES = [
  ['scheduler', 'Schedulers'],
  ['conductor', 'Conductors'],
  ['placement-api', 'Placement APIs'],
] as const;

/** Processes by service, hosts that are down, and the store's answer. */
function HealthFigures({ page: { processes, store } }: { page: Page }) {
  const { shell } = useHub();
  const down = shell?.hosts.down;
  return (
    <dl class="figures">
      {SERVICES.map(([service, label]) => {
        if (processes === undefined) return <Figure key={service} label={label} value="?" note="unknown" />;
        const all = processes.filter((one) => one.service === service);
        const ready = all.filter(({ state }) => state === 'ready').length;
        return (
          <Figure
            key={service}
            label={label}
            value={all.length === 0 ? 'none' : `${ready} of ${all.length}`}
            note={all.length === 0 ? 'seen in a day' : 'ready'}
            tone={all.length > 0 && ready < all.length ? 'bad' : ''}
            href="#processes"
          />
        );
      })}
      <Figure
        label="Hosts down"
        value={down === undefined ? undefined : number(down)}
        note={
          shell && (
            <>
              of <a href="/fleet?view=list">{number(shell.hosts.all)}</a>
            </>
          )
        }
        tone={down ? 'bad' : ''}
        href="/fleet?show=down&view=list"
      />
      <Figure
        label="Store answers in"
        value={store.answeredInMs < 0 ? 'no answer' : span(store.answeredInMs)}
        tone={store.answeredInMs < 0 ? 'bad' : ''}
        href="#store"
      />
    </dl>
  );
}

function processColumns(version: string): readonly Column<ProcessRow>[] {
  return [
    { key: 'service', head: 'Service', width: 'minmax(7rem, 0.8fr)', cell: ({ service }) => service },
    {
      key: 'name',
      head: 'Process',
      width: 'minmax(8rem, 1.2fr)',
      cell: ({ name }) => <span title={name}>{name}</span>,
    },
    {
      key: 'state',
      head: 'State',
      width: 'minmax(7rem, 1fr)',
      cell: ({ state, problem }) => (
        <span title={problem}>
          <State state={state} /> <span class="faint">{state === 'not_ready' && problem}</span>
        </span>
      ),
    },
    {
      key: 'version',
      head: 'Version',
      width: 'minmax(5rem, 0.5fr)',
      cell: ({ version: its }) => (its === version ? its : <State state="doubtful" label={its} />),
    },
    { key: 'started', head: 'Started', width: '6rem', cell: ({ startedAtMs }) => <Ago ms={startedAtMs} /> },
    { key: 'seen', head: 'Last seen', width: '6rem', cell: ({ seenAtMs }) => <Ago ms={seenAtMs} /> },
  ];
}

const AGENT_COLUMNS: readonly Column<AgentRow>[] = [
  {
    key: 'name',
    head: 'Service host',
    width: 'minmax(7rem, 1.2fr)',
    cell: ({ name }) => <a href={link('/fleet', { filter: name, view: 'list' })}>{name}</a>,
  },
  {
    key: 'hosts',
    head: 'Hosts',
    width: '4.5rem',
    isNumber: true,
    cell: ({ name, hosts }) => <a href={link('/fleet', { filter: name, view: 'list' })}>{number(hosts)}</a>,
  },
  {
    key: 'down',
    head: 'State',
    width: '6rem',
    cell: ({ name, down }) =>
      down === 0 ? (
        <State state="up" />
      ) : (
        <a href={link('/fleet', { filter: name, show: 'down', view: 'list' })}>
          <State state="down" label={`${number(down)} down`} />
        </a>
      ),
  },
  {
    key: 'heard',
    head: 'Last report',
    width: '6rem',
    cell: ({ heardAtMs }) => (heardAtMs < 0 ? 'unknown' : <Ago ms={heardAtMs} />),
  },
];

/** Pages that list what a queue's messages are about, or who takes them: the broker lists only dead letters without taking them. */
const LISTS: Readonly<Record<string, string>> = {
  'dead-letters': '/builds#dead-letters',
  'build.requests': '/instances?state=scheduling',
  'build.results': '/instances?state=building',
};
const TAKERS = '#processes';

const QUEUE_COLUMNS: readonly TableColumn<QueueRow>[] = [
  {
    head: 'Queue',
    isName: true,
    cell: ({ name }) => <a href={LISTS[name] ?? TAKERS}>{name}</a>,
  },
  {
    head: 'Waiting',
    isNumber: true,
    cell: ({ name, depth, limit }) => (
      <span title={limit > 0 ? `The queue refuses messages above ${number(limit)}.` : undefined}>
        {depth < 0 ? 'no answer' : <a href={LISTS[name] ?? TAKERS}>{number(depth)}</a>}
      </span>
    ),
  },
  {
    head: 'Full',
    isNumber: true,
    cell: ({ name, depth, limit }) =>
      limit > 0 && depth >= 0 ? <a href={LISTS[name] ?? TAKERS}>{percent(depth / limit)}</a> : '–',
  },
];

function StoreOf({ page: { store } }: { page: Page }) {
  const { answeredInMs, bornAtMs, revision, lostUpToMs, stale } = store;
  const facts: Fact[] = [
    ['Answers', answeredInMs < 0 ? <State key="state" state="down" label="no answer" /> : `in ${span(answeredInMs)}`],
    ['First commit', bornAtMs === 0 ? '' : <Ago key="born" ms={bornAtMs} />],
    ['Revision', answeredInMs < 0 ? '' : number(revision)],
    ['May have lost writes', lostUpToMs === 0 ? '' : `until ${dateOf(lostUpToMs)}`],
    ['This page', stale === '' ? 'is current' : stale],
  ];
  return <Facts facts={facts} />;
}

const CELL_COLUMNS: readonly TableColumn<CellRow>[] = [
  { head: 'Cell', isName: true, cell: ({ name, url }) => <Linked href={url || undefined}>{name}</Linked> },
  {
    head: 'State',
    cell: ({ state, problem }) => (problem === '' ? words(state) : <State state="down" label={problem} />),
  },
  { head: 'Hosts', isNumber: true, cell: ({ url, hosts }) => <CellHosts url={url} count={hosts} /> },
  { head: 'Take builds', isNumber: true, cell: ({ url, available }) => <CellHosts url={url} count={available} /> },
  { head: 'Last summary', cell: ({ heardAtMs }) => <Ago ms={heardAtMs} /> },
];

/** Hosts of a cell, as a link to the list in its own console. */
function CellHosts({ url, count }: { url: string; count: number }) {
  return <Linked href={url === '' ? undefined : `${url}/fleet?view=list`}>{number(count)}</Linked>;
}
