import { useEffect, useState } from 'preact/hooks';
import { listenTo } from '../state/stream';
import { useTitle } from '../state/title';
import { amount, amounts, className, number, plural, span } from '../ui/format';
import { Bar, Empty, Figure, InstanceLink, Section } from '../ui/parts';
import { Table, type TableColumn } from '../ui/table';
import { type Distribution, type FleetUse, MAX_REPORT_BYTES, type Refused, type Report, readReport } from './report';

/** A report of a rehearsal, from a file that the browser reads: nothing is sent anywhere. */
export function RehearsalsPage() {
  useTitle('Rehearsals');
  useEffect(() => listenTo('page=', {}), []);
  const [report, setReport] = useState<Report | undefined>();
  const [problem, setProblem] = useState('');
  const open = async (file: File | undefined) => {
    if (file === undefined) return;
    const read = file.size > MAX_REPORT_BYTES ? undefined : readReport(await file.text());
    setReport(read);
    setProblem(read ? '' : `${file.name} is no report of berth rehearse --json.`);
  };
  return (
    <>
      <h1>Rehearsals</h1>
      <p class="faint lead">
        What an operation would do to the fleet: <code>berth rehearse drain host-7 --json &gt; report.json</code> forks
        the fleet, does the operation there many times, and changes nothing. Open its report here.
      </p>
      <p>
        <label>
          Report{' '}
          <input
            type="file"
            accept="application/json,.json"
            onChange={(change) => void open(change.currentTarget.files?.[0])}
          />
        </label>
      </p>
      <p role="alert" class="alert-text">
        {problem}
      </p>
      {report ? <Shown report={report} /> : <Empty>No report is open. It stays in this browser.</Empty>}
    </>
  );
}

function Shown({ report }: { report: Report }) {
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

function shownMetrics(metrics: Report['metrics']): readonly MetricRow[] {
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
function BeforeAndAfter({ report: { before, after } }: { report: Report }) {
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
