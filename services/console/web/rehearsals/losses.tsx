import { number, plural, span } from '../ui/format';
import { Figure, InstanceLink, Section } from '../ui/parts';
import { Table, type TableColumn } from '../ui/table';
import type { Loss } from './report';

/** The loss of each domain in turn, the worst first. */
export function Losses({ losses }: { losses: readonly Loss[] }) {
  const bad = losses.filter(({ summary: { metrics } }) => (metrics['refused']?.most ?? 0) > 0);
  return (
    <>
      <h2>Lose each of {plural(losses.length, 'domain')}, one at a time</h2>
      <dl class="figures">
        <Figure label="Could be lost" value={`${number(losses.length - bad.length)} of ${number(losses.length)}`} />
        <Figure label="Leave instances without a host" value={number(bad.length)} tone={bad.length > 0 ? 'bad' : ''} />
      </dl>
      <Section title="Each loss, the worst first" aside={number(losses.length)}>
        <div class="scroll" tabIndex={0}>
          <Table columns={COLUMNS} rows={losses} keyOf={({ domain }) => domain} />
        </div>
      </Section>
    </>
  );
}

const COLUMNS: readonly TableColumn<Loss>[] = [
  { head: 'Lost', isName: true, cell: ({ domain }) => domain },
  { head: 'Hosts', isNumber: true, cell: ({ hosts }) => number(hosts) },
  { head: 'Moved', isNumber: true, cell: ({ summary: { metrics } }) => number(metrics['moved']?.median ?? 0) },
  { head: 'Refused', isNumber: true, cell: ({ summary: { metrics } }) => number(metrics['refused']?.most ?? 0) },
  {
    head: 'Takes, p95',
    isNumber: true,
    cell: ({ summary: { metrics } }) => span((metrics['seconds']?.p95 ?? 0) * 1_000),
  },
  { head: 'Because', kind: 'because', cell: (loss) => <Because {...loss} /> },
];

function Because({ cameAbout, summary: { refused, broken } }: Loss) {
  const [first, ...others] = refused;
  if (cameAbout.length > 0) return <>{cameAbout.join(', ')}</>;
  if (broken.length > 0) return <>{broken[0]?.what}</>;
  if (first === undefined) return <span class="faint">–</span>;
  return (
    <>
      <InstanceLink uuid={first.uuid} name={first.name} />: {first.why}
      {others.length > 0 && <small>and {plural(others.length, 'other')}</small>}
    </>
  );
}
