import { useEffect, useState } from 'preact/hooks';
import { type Choices, type InstanceRow, MAX_BULK, type InstancesPage as Page } from '../../api/instances';
import { useChoices } from '../state/choices';
import { setQuery, usePlace } from '../state/router';
import { useMayAct } from '../state/session';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { number, plural, stateName } from '../ui/format';
import { Ago, Attempts, HostLink, InstanceLink, Loading, ProjectLink, State } from '../ui/parts';
import { type Column, type Sorting, VirtualTable } from '../ui/virtual-table';
import { BulkActions } from './bulk-actions';

/** The parts of the address that choose instances; the server reads them (`views/instances-page`). */
const FILTERS = [
  'state',
  'project',
  'zone',
  'host',
  'flavor',
  'name',
  'since',
  'reason',
  'attempt',
  'tried',
  'request',
] as const;
const TIMES = [
  ['', 'any time'],
  ['10m', '10 minutes'],
  ['1h', 'an hour'],
  ['24h', 'a day'],
  ['7d', 'a week'],
] as const;

/** The instances of the store: filtered, and acted on together. */
export function InstancesPage() {
  useTitle('Instances');
  const { query } = usePlace();
  const asked = new URLSearchParams({ page: 'instances' });
  for (const name of FILTERS) if (query.get(name)) asked.set(name, query.get(name) ?? '');
  const page = usePage<Page>(asked.toString());
  // A new filter is asked for with a new stream: until it answers the former counts stand.
  const [last, setLast] = useState<Page | undefined>();
  useEffect(() => {
    if (page !== undefined) setLast(page);
  }, [page]);
  const isFiltered = FILTERS.some((name) => query.get(name));
  return (
    <>
      <h1>Instances</h1>
      <States page={page ?? last} chosen={query.get('state') ?? ''} />
      <Filters query={query} />
      {page === undefined ? (
        <Loading what="the instances" />
      ) : (
        <Found key={asked.toString()} page={page} isFiltered={isFiltered} />
      )}
    </>
  );
}

/** All states with their counts: each filters. */
function States({ page, chosen }: { page: Page | undefined; chosen: string }) {
  const names = chosen.toLowerCase().split(',').filter(Boolean);
  const counts = new Map(['active', 'error', 'pending', ...names].map((name) => [name, 0]));
  for (const { name, count } of page?.states ?? []) counts.set(name, count);
  const toggle = (name: string) => {
    const next = names.includes(name) ? names.filter((one) => one !== name) : [...names, name];
    setQuery({ state: next.join() });
  };
  return (
    <div class="chips" role="group" aria-label="States">
      {[...counts].map(([name, count]) => (
        <button key={name} type="button" class="chip" aria-pressed={names.includes(name)} onClick={() => toggle(name)}>
          <State state={name} label={stateName(name)} /> <strong>{page === undefined ? '…' : number(count)}</strong>
        </button>
      ))}
    </div>
  );
}

function Filters({ query }: { query: URLSearchParams }) {
  const choices = useChoices();
  const pick = (name: string, label: string, options: readonly string[]) => {
    const value = query.get(name) ?? '';
    const offered = value === '' || options.includes(value) ? options : [value, ...options];
    return (
      <label>
        {label}
        <select value={value} onChange={(change) => setQuery({ [name]: change.currentTarget.value })}>
          <option value="">any</option>
          {offered.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      </label>
    );
  };
  const text = (name: string, label: string, placeholder: string) => (
    <label>
      {label}
      <input
        type="search"
        value={query.get(name) ?? ''}
        placeholder={placeholder}
        onChange={(change) => setQuery({ [name]: change.currentTarget.value.trim() })}
      />
    </label>
  );
  const since = query.get('since') ?? '';
  const times = TIMES.some(([value]) => value === since) ? TIMES : [...TIMES, [since, since] as const];
  return (
    <form class="toolbar" aria-label="Filter" onSubmit={(submitted) => submitted.preventDefault()}>
      {text('name', 'Name', 'or uuid')}
      {pick('project', 'Project', choices?.projects ?? [])}
      {pick('zone', 'Zone', choices?.zones ?? [])}
      {text('host', 'Host', 'host-7')}
      {pick('flavor', 'Flavor', flavorNames(choices))}
      <label>
        Changed within
        <select value={since} onChange={(change) => setQuery({ since: change.currentTarget.value })}>
          {times.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {(['reason', 'attempt', 'tried', 'request'] as const).map((name) => {
        const value = query.get(name);
        if (!value) return null;
        return (
          <button key={name} type="button" class="chip" aria-pressed onClick={() => setQuery({ [name]: undefined })}>
            {MORE[name]} {value} <span aria-hidden="true">×</span>
            <span class="visually-hidden">, remove this filter</span>
          </button>
        );
      })}
      {FILTERS.some((name) => query.get(name)) && (
        <button type="button" onClick={() => setQuery(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}>
          Clear filters
        </button>
      )}
    </form>
  );
}

const MORE = {
  reason: 'Failed with',
  attempt: 'An attempt ended with',
  tried: 'Attempts, at least',
  request: 'Of request',
} as const;

function flavorNames(choices: Choices | undefined): readonly string[] {
  return (choices?.flavors ?? []).map(({ name }) => name);
}

function Found({ page, isFiltered }: { page: Page; isFiltered: boolean }) {
  const { instances, matched, isPartial, read } = page;
  const mayAct = useMayAct();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [sorting, setSorting] = useState<Sorting>({ key: 'updated', isDescending: true });
  // Instances out of sight are not acted on.
  const shown = instances.filter(({ uuid }) => chosen.has(uuid));
  const toggle = (uuid: string) => {
    const next = new Set(chosen);
    if (!next.delete(uuid)) next.add(uuid);
    setChosen(next);
  };
  const some = instances.slice(0, MAX_BULK).map(({ uuid }) => uuid);
  const isAll = some.length > 0 && some.every((uuid) => chosen.has(uuid));
  const select: Column<InstanceRow> = {
    key: 'select',
    head: 'Select',
    headCell: (
      <input
        type="checkbox"
        aria-label={`Select the first ${number(some.length)}`}
        checked={isAll}
        onChange={() => setChosen(new Set(isAll ? [] : some))}
      />
    ),
    width: '1.8rem',
    cell: ({ uuid, name }) => (
      <input type="checkbox" aria-label={`Select ${name}`} checked={chosen.has(uuid)} onChange={() => toggle(uuid)} />
    ),
  };
  return (
    <>
      <p class="found">
        <strong>{plural(matched, 'instance')}</strong>
        {matched > instances.length && <>, the last {number(instances.length)} to change are shown</>}
        {isPartial && (
          <span class="stranded">
            {' '}
            The console read {number(read)} instances, and there are more: filter by state, project or host to see all.
          </span>
        )}
      </p>
      {mayAct && instances.length > 0 && <BulkActions rows={shown} onDone={() => setChosen(new Set())} />}
      <VirtualTable
        label="Instances"
        columns={mayAct ? [select, ...COLUMNS] : COLUMNS}
        rows={instances}
        keyOf={({ uuid }) => uuid}
        sorting={sorting}
        onSort={setSorting}
        height="calc(100vh - 16rem)"
        empty={isFiltered ? 'No instance passes the filter.' : 'There are no instances yet.'}
      />
    </>
  );
}

const COLUMNS: readonly Column<InstanceRow>[] = [
  {
    key: 'name',
    head: 'Instance',
    width: 'minmax(8rem, 1fr)',
    sortBy: ({ name }) => name,
    cell: ({ uuid, name }) => <InstanceLink uuid={uuid} name={name} />,
  },
  {
    key: 'state',
    head: 'State',
    width: 'minmax(8rem, 0.6fr)',
    sortBy: ({ state }) => state,
    cell: ({ state }) => <State state={state} label={stateName(state)} />,
  },
  {
    key: 'host',
    head: 'Host',
    width: 'minmax(6rem, 0.7fr)',
    sortBy: ({ host }) => host,
    cell: ({ host }) => <HostLink host={host} />,
  },
  {
    key: 'zone',
    head: 'Zone',
    width: 'minmax(4rem, 0.5fr)',
    sortBy: ({ zone }) => zone,
    cell: ({ zone }) => zone || '–',
  },
  {
    key: 'project',
    head: 'Project',
    width: 'minmax(5rem, 0.6fr)',
    sortBy: ({ projectId }) => projectId,
    cell: ({ projectId }) => <ProjectLink id={projectId} />,
  },
  {
    key: 'flavor',
    head: 'Flavor',
    width: 'minmax(5rem, 0.6fr)',
    sortBy: ({ flavor }) => flavor,
    cell: ({ flavor }) => flavor || '–',
  },
  {
    key: 'attempts',
    head: 'Attempts',
    width: '5rem',
    isNumber: true,
    sortBy: ({ attempts }) => attempts,
    cell: ({ uuid, attempts }) => <Attempts uuid={uuid} count={attempts} />,
  },
  {
    key: 'reason',
    head: 'Reason',
    width: 'minmax(10rem, 1.4fr)',
    sortBy: ({ reason }) => reason,
    cell: ({ reason }) => <span title={reason}>{reason}</span>,
  },
  {
    key: 'updated',
    head: 'Changed',
    width: '6rem',
    sortBy: ({ updatedAtMs }) => updatedAtMs,
    cell: ({ updatedAtMs }) => <Ago ms={updatedAtMs} />,
  },
];
