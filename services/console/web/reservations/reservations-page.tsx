import type { ReservationsPage as Page, ReservationRow } from '../../api/promises/reservations';
import { link } from '../state/router';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { amounts, dateOf, number, span } from '../ui/format';
import { Empty, Figure, HostLink, Loading, ProjectLink, Section, State } from '../ui/parts';
import { Table, type TableColumn } from '../ui/table';

/** Capacity that is held for projects over windows of time, where it is, and what can't be kept. */
export function ReservationsPage() {
  useTitle('Reservations');
  const page = usePage<Page>('page=reservations');
  if (page === undefined) return <Loading what="the reservations" />;
  const { reservations } = page;
  const atRisk = reservations.filter(({ isAtRisk }) => isAtRisk);
  const open = reservations.filter(({ isOpen }) => isOpen);
  return (
    <>
      <h1>Reservations</h1>
      <dl class="figures">
        <Figure
          label="Held"
          value={
            reservations.length === 0
              ? 'none set'
              : `${number(reservations.length - atRisk.length)} of ${number(reservations.length)}`
          }
          tone={atRisk.length > 0 ? 'bad' : ''}
          href={LIST}
        />
        <Figure label="Open now" value={number(open.length)} href={LIST} />
        <Figure
          label="Units in use"
          value={`${number(sumOf(open, ({ used }) => used))} of ${number(sumOf(open, ({ units }) => units))}`}
          href={LIST}
        />
      </dl>
      <Section title="What is reserved" aside={number(reservations.length)}>
        {reservations.length === 0 ? (
          <Empty>
            Nothing is reserved: <code>berth reservation create night --project science --from 8h --until 16h</code>{' '}
            holds capacity for a project over a window.
          </Empty>
        ) : (
          <div class="scroll" tabIndex={0}>
            <Table columns={COLUMNS} rows={reservations} keyOf={({ name }) => name} />
          </div>
        )}
      </Section>
      <AtRisk reservations={atRisk} />
    </>
  );
}

const LIST = '#section-what-is-reserved';

function sumOf(rows: readonly ReservationRow[], of: (row: ReservationRow) => number): number {
  return rows.reduce((sum, row) => sum + of(row), 0);
}

const COLUMNS: readonly TableColumn<ReservationRow>[] = [
  { head: 'Reservation', isName: true, cell: ({ name }) => name },
  { head: 'Project', cell: ({ projectId }) => <ProjectLink id={projectId} /> },
  { head: 'Window', cell: (row) => <Window row={row} /> },
  { head: 'A unit', cell: ({ flavor, resources }) => flavor || amounts(resources) },
  { head: 'In use', isNumber: true, cell: (row) => <Used row={row} /> },
  { head: 'Hosts', cell: (row) => <Hosts row={row} /> },
  {
    head: 'State',
    cell: ({ isAtRisk, isOpen }) => {
      if (isAtRisk) return <State state="failed" label="at risk" />;
      return <State state={isOpen ? 'open' : 'stopped'} label={isOpen ? 'open' : 'held'} />;
    },
  },
];

/** Instances in use, of units, as a link to those of its project. */
function Used({ row: { projectId, used, units } }: { row: ReservationRow }) {
  return (
    <>
      <a href={link('/instances', { project: projectId })}>{number(used)}</a> of {number(units)}
    </>
  );
}

function Window({ row: { fromMs, untilMs } }: { row: ReservationRow }) {
  return (
    <>
      <time dateTime={new Date(fromMs).toISOString()}>{dateOf(fromMs)}</time> to{' '}
      <time dateTime={new Date(untilMs).toISOString()}>{dateOf(untilMs)}</time>
      <small> {span(untilMs - fromMs)}</small>
    </>
  );
}

function Hosts({ row: { hosts } }: { row: ReservationRow }) {
  if (hosts.length === 0) return <span class="faint">none</span>;
  return (
    <>
      {hosts.map(({ host, units }, n) => (
        <span key={host}>
          {n > 0 && ', '}
          {units > 1 && `${number(units)} on `}
          <HostLink host={host} />
        </span>
      ))}
    </>
  );
}

/** Reservations with units that no host can keep, and why. */
function AtRisk({ reservations }: { reservations: readonly ReservationRow[] }) {
  if (reservations.length === 0) return null;
  return (
    <Section title="What can’t be kept" aside={number(reservations.length)}>
      <ul>
        {reservations.map(({ name, reason, units, hosts }) => (
          <li key={name}>
            <strong>{name}</strong>: {number(units - hosts.reduce((sum, one) => sum + one.units, 0))} of {number(units)}{' '}
            units have no host. {reason}
          </li>
        ))}
      </ul>
    </Section>
  );
}
