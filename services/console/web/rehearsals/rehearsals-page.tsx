import { useEffect, useState } from 'preact/hooks';
import type { RehearsalsPage as Page, RehearsalRow } from '../../api/rehearsals';
import { type ApiError, read } from '../state/api';
import { usePlace } from '../state/router';
import { useMayAct } from '../state/session';
import { usePage } from '../state/stream';
import { useTitle } from '../state/title';
import { Empty, Loading, Section } from '../ui/parts';
import { MAX_REPORT_BYTES, type Report, readReport } from './report';
import { ReportView } from './report-view';
import { RunForm } from './run-form';
import { RunList } from './run-list';

/** Rehearsals that this console runs, with a form for more; and the report of one, or of a file. */
export function RehearsalsPage() {
  useTitle('Rehearsals');
  const page = usePage<Page>('page=rehearsals');
  const mayAct = useMayAct();
  const { query } = usePlace();
  const [file, setFile] = useState<Report | undefined>();
  if (page === undefined) return <Loading what="the rehearsals" />;
  const { rehearsals, maxRehearsals } = page;
  const chosen = rehearsals.find(({ id }) => id === query.get('run')) ?? rehearsals[0];
  const hasForm = mayAct && maxRehearsals > 0;
  return (
    <>
      <h1>Rehearsals</h1>
      <p class="faint lead">
        What an operation would do to the fleet. A rehearsal forks the fleet as it is now, does the operation there many
        times, and changes nothing.
      </p>
      <div class={hasForm ? 'columns columns-form' : ''}>
        {hasForm && (
          <Section title="Rehearse">
            <RunForm onStart={() => setFile(undefined)} />
          </Section>
        )}
        <div class="stack">
          {maxRehearsals > 0 && (
            <RunList
              rehearsals={rehearsals}
              chosen={file ? undefined : chosen?.id}
              onChoose={() => setFile(undefined)}
            />
          )}
          <ReportFile onOpen={setFile} />
          {file ? <ReportView report={file} /> : <Chosen rehearsal={chosen} />}
        </div>
      </div>
    </>
  );
}

/** The report of the chosen rehearsal, once it is over. */
function Chosen({ rehearsal }: { rehearsal: RehearsalRow | undefined }) {
  const { id = '', state } = rehearsal ?? {};
  const [read_, setRead] = useState<{ readonly id: string; readonly report?: Report; readonly problem?: string }>();
  useEffect(() => {
    if (state !== 'done') return undefined;
    const abort = new AbortController();
    read<unknown>(`/api/rehearsals/${encodeURIComponent(id)}`, abort.signal).then(
      (answer) => {
        const report = readReport(JSON.stringify(answer));
        setRead(report ? { id, report } : { id, problem: 'It is no report that this page can show.' });
      },
      (thrown: unknown) => abort.signal.aborted || setRead({ id, problem: (thrown as ApiError).problem.message }),
    );
    return () => abort.abort();
  }, [id, state]);
  if (rehearsal === undefined) return <Empty>No report is open.</Empty>;
  if (state !== 'done') return null;
  if (read_?.id !== id) return <Loading what="the report" />;
  return read_.report ? <ReportView report={read_.report} /> : <p class="alert-text">{read_.problem}</p>;
}

/** Opens a report that a browser has: nothing is sent anywhere. */
function ReportFile({ onOpen }: { onOpen: (report: Report | undefined) => void }) {
  const [problem, setProblem] = useState('');
  const open = async (file: File | undefined) => {
    if (file === undefined) return;
    const report = file.size > MAX_REPORT_BYTES ? undefined : readReport(await file.text());
    onOpen(report);
    setProblem(report ? '' : `${file.name} is no report of berth rehearse --json.`);
  };
  return (
    <details class="report-file">
      <summary>Open a report of a file</summary>
      <p>
        <label>
          Report{' '}
          <input
            type="file"
            accept="application/json,.json"
            onChange={(change) => void open(change.currentTarget.files?.[0])}
          />
        </label>{' '}
        <span class="faint">
          of <code>berth rehearse drain host-7 --json &gt; report.json</code>. It stays in this browser.
        </span>
      </p>
      <p role="alert" class="alert-text">
        {problem}
      </p>
    </details>
  );
}
