import { amount, amounts, className, number, plural, span } from '../ui/format';
import { Bar, Figure, InstanceLink, Section } from '../ui/parts';
import { Table, type TableColumn } from '../ui/table';
import { Losses } from './losses';
import type { Distribution, FleetUse, OperationReport, Refused, Report } from './report';
import { Timelines } from './timelines';

/** A report, whichever kind it is. */
export function ReportView({ report }: { report: Report }) {
  return report.kind === 'losses' ? <Losses losses={report.losses} /> : <Operation report={report} />;
}

function Operation({ report }: { report: OperationReport }) {
  const { title, rehearsals, hosts, instances, ageMs, metrics, broken, cameAbout, refused } = report;
  const figure = (name: string) => number(metrics[name]?.median ?? 0);
  return (
    <>
      <h2>{title}</h2>
      <p class="faint">
        Rehearsed {plural(rehearsals, 'time')} on {plural(hosts, 'host')} with {plural(instances, 'instance')}, as they
        were {span(ageMs)} before.
      </p>
      <dl class="figures">
        <Figure label="Takes, median" value={span((metrics['seconds']?.median ?? 0) * 1_000)} />
        <Figure label="Moved" value={figure('moved')} />
        <Figure label="Refused" value={figure('refused')} tone={(metrics['refused']?.most ?? 0) > 0 ? 'bad' : ''} />
        <Figure label="Broken" value={number(broken.length)} tone={broken.length > 0 ? 'bad' : ''} />
      </dl>
      {cameAbout.length > 0 && <p class="alert-text">Came about: {cameAbout.join(', ')}</p>}
      <Section title="Over all rehearsals">
        <div class="scroll" tabIndex={0}>
          <Table columns={METRICS} rows={shownMetrics(metrics)} keyOf={([name]) => name} />
        </div>
      </Section>
      <Timelines report={report} />
      <BeforeAndAfter report={report} />
      {refused.length > 0 && (
        <Section title="What could not be moved" aside={number(refused.length)}>
          <div class="scroll" tabIndex={0}>
            <Table
              columns={refusedColumns(rehearsals)}
              rows={refused.slice(0, MOST_SHOWN)}
              keyOf={({ uuid }) => uuid}
            />
          </div>
        </Section>
      )}
      {broken.length > 0 && (
        <Section title="What was broken" aside={number(broken.length)}>
          <ul>
            {broken.map(({ what, seeds }) => (
              <li key={what}>
                {what} (seeds {seeds.slice(0, 8).join(', ')})
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

const MOST_SHOWN = 200;
const ALWAYS: readonly string[] = ['seconds', 'moved', 'refused', 'broken'];

type MetricRow = readonly [name: string, values: Distribution];

function shownMetrics(metrics: OperationReport['metrics']): readonly MetricRow[] {
  return Object.entries(metrics).filter(([name, { most }]) => ALWAYS.includes(name) || most > 0);
}

const METRICS: readonly TableColumn<MetricRow>[] = [
  { head: 'Number', isName: true, cell: ([name]) => name },
  { head: 'Least', isNumber: true, cell: ([, { least }]) => number(least) },
  { head: 'Median', isNumber: true, cell: ([, { median }]) => number(median) },
  { head: 'p95', isNumber: true, cell: ([, { p95 }]) => number(p95) },
  { head: 'Most', isNumber: true, cell: ([, { most }]) => number(most) },
];

const refusedColumns = (rehearsals: number): readonly TableColumn<Refused>[] => [
  { head: 'Instance', isName: true, cell: ({ uuid, name }) => <InstanceLink uuid={uuid} name={name} /> },
  { head: 'Holds', cell: ({ resources }) => amounts(resources) },
  { head: 'Rehearsals', isNumber: true, cell: ({ times }) => `${number(times)} of ${number(rehearsals)}` },
  { head: 'Why', cell: ({ why }) => why },
];

/** The fleet in service before and after, side by side, in the rehearsal of the median time. */
function BeforeAndAfter({ report: { before, after } }: { report: OperationReport }) {
  const classes = Object.keys(before.capacity).filter((name) => (before.capacity[name] ?? 0) > 0);
  const columns: readonly TableColumn<string>[] = [
    { head: 'In service', isName: true, cell: (name) => className(name) },
    { head: 'Before', cell: (name) => <Use name={name} use={before} /> },
    { head: 'After', cell: (name) => <Use name={name} use={after} /> },
    {
      head: 'Most free on one host, after',
      isNumber: true,
      cell: (name) => amount(name, after.largestFree[name] ?? 0),
    },
  ];
  return (
    <Section title="Before and after" aside={`${number(before.hosts)} → ${plural(after.hosts, 'host')}`}>
      <div class="scroll" tabIndex={0}>
        <Table columns={columns} rows={classes} keyOf={(name) => name} />
      </div>
    </Section>
  );
}

function Use({ name, use }: { name: string; use: FleetUse }) {
  return <Bar name={name} used={use.used[name] ?? 0} capacity={use.capacity[name] ?? 0} />;
}
