import { useMemo, useState } from 'preact/hooks';
import type { FleetHost } from '../../api/fleet';
import { ATTEMPTS } from '../host/lists';
import type { FleetModel } from '../state/fleet-model';
import { link } from '../state/router';
import { className, number } from '../ui/format';
import { Ago, Bar, HostLink, HostStates } from '../ui/parts';
import { type Column, type Sorting, VirtualTable } from '../ui/virtual-table';

/** The fleet as a table: the map in words. */
export function FleetList({
  model,
  hosts,
  drawnAt,
}: {
  model: FleetModel;
  hosts: readonly FleetHost[];
  drawnAt: number;
}) {
  const [sorting, setSorting] = useState<Sorting>({ key: 'host', isDescending: false });
  const rows = useMemo(
    () => hosts.map(({ name }) => model.hosts.get(name)).filter((host) => host !== undefined),
    [hosts, drawnAt],
  );
  // Hosts come sorted by name: comparing ten thousand names each time would be noticeable.
  const places = useMemo(() => new Map(hosts.map(({ name }, i) => [name, i])), [hosts]);
  const columns = useMemo(() => columnsOf(model.classes, ({ name }) => places.get(name) ?? 0), [model.classes, places]);
  return (
    <VirtualTable
      label="Hosts"
      columns={columns}
      rows={rows}
      keyOf={({ name }) => name}
      sorting={sorting}
      onSort={setSorting}
      height="calc(100vh - 15rem)"
      empty="No host passes the filter."
    />
  );
}

function columnsOf(classes: readonly string[], placeOf: (host: FleetHost) => number): readonly Column<FleetHost>[] {
  return [
    {
      key: 'host',
      head: 'Host',
      width: 'minmax(8rem, 1.2fr)',
      sortBy: placeOf,
      cell: ({ name }) => <HostLink host={name} />,
    },
    {
      key: 'status',
      head: 'Status',
      width: 'minmax(8rem, 1.2fr)',
      sortBy: ({ flags }) => flags,
      cell: (host) => (
        <span class="states">
          <HostStates host={host} />
        </span>
      ),
    },
    { key: 'zone', head: 'Zone', width: 'minmax(5rem, 0.7fr)', sortBy: ({ zone }) => zone, cell: ({ zone }) => zone },
    {
      key: 'rack',
      head: 'Rack',
      width: 'minmax(4rem, 0.5fr)',
      sortBy: ({ rack }) => rack,
      cell: ({ rack }) => rack || '–',
    },
    {
      key: 'instances',
      head: 'Instances',
      width: '5.5rem',
      isNumber: true,
      sortBy: ({ instances }) => instances,
      cell: ({ name, instances }) => <a href={link('/instances', { host: name })}>{number(instances)}</a>,
    },
    ...classes.slice(0, 4).map((name, i): Column<FleetHost> => {
      return {
        key: name,
        head: className(name),
        width: 'minmax(11rem, 1.4fr)',
        sortBy: ({ used, capacity }) => (capacity[i] ? (used[i] ?? 0) / capacity[i] : -1),
        cell: ({ name: host, used, capacity }) =>
          capacity[i] ? (
            <Bar name={name} used={used[i] ?? 0} capacity={capacity[i]} href={link('/instances', { host })} />
          ) : (
            <span class="faint">–</span>
          ),
      };
    }),
    {
      key: 'failures',
      head: 'Failures',
      width: '5.5rem',
      isNumber: true,
      sortBy: ({ failures }) => failures,
      cell: ({ name, failures }) => <a href={`/hosts/${encodeURIComponent(name)}#${ATTEMPTS}`}>{number(failures)}</a>,
    },
    {
      key: 'report',
      head: 'Last change',
      width: '7rem',
      sortBy: ({ updatedAtMs }) => -updatedAtMs,
      cell: ({ updatedAtMs }) => <Ago ms={updatedAtMs} />,
    },
  ];
}
