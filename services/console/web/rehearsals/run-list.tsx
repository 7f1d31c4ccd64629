import type { RehearsalRow } from '../../api/rehearsals';
import { link } from '../state/router';
import { ActionButton } from '../ui/action';
import { number, span } from '../ui/format';
import { Ago, Empty, Section, State } from '../ui/parts';
import { Table, type TableColumn } from '../ui/table';

/** The rehearsals of this console, the newest first; the chosen one is marked. */
export function RunList({
  rehearsals,
  chosen,
  onChoose,
}: {
  rehearsals: readonly RehearsalRow[];
  chosen: string | undefined;
  onChoose: () => void;
}) {
  return (
    <Section title="Of this console" aside={number(rehearsals.length)}>
      {rehearsals.length === 0 ? (
        <Empty>None yet.</Empty>
      ) : (
        <div class="scroll" tabIndex={0}>
          <Table
            caption="Rehearsals of this console"
            columns={columns(onChoose)}
            rows={rehearsals}
            keyOf={({ id }) => id}
            kindOf={({ id }) => (id === chosen ? 'chosen' : '')}
          />
        </div>
      )}
    </Section>
  );
}

const columns = (onChoose: () => void): readonly TableColumn<RehearsalRow>[] => [
  { head: 'Rehearsal', isName: true, kind: 'because', cell: (row) => <Line row={row} onChoose={onChoose} /> },
  { head: 'State', cell: (row) => <Progress row={row} /> },
  { head: 'By', cell: ({ userId }) => userId },
  { head: 'Started', cell: ({ startedAtMs }) => <Ago ms={startedAtMs} /> },
  {
    head: 'Took',
    isNumber: true,
    cell: ({ startedAtMs, endedAtMs }) => (endedAtMs === undefined ? '' : span(endedAtMs - startedAtMs)),
  },
];

function Line({ row: { id, line, problem }, onChoose }: { row: RehearsalRow; onChoose: () => void }) {
  return (
    <>
      <a href={link('/rehearsals', { run: id })} onClick={onChoose}>
        <code>{line}</code>
      </a>
      {problem && (
        <small>
          {problem.message} ({problem.reason})
        </small>
      )}
    </>
  );
}

function Progress({ row: { id, state, done, all } }: { row: RehearsalRow }) {
  if (state !== 'running') return <State state={STATES[state]} label={state} />;
  return (
    <span class="run-progress">
      <progress max={Math.max(1, all)} value={done} aria-label="Progress of the rehearsal" />
      <span>{all === 0 ? 'reading the fleet' : `${number(done)} of ${number(all)}`}</span>
      <ActionButton
        label="Cancel"
        question="The rehearsal will end without a report."
        path="/api/rehearsals/actions"
        body={{ action: 'cancel', id }}
        done="The rehearsal is cancelled."
      />
    </span>
  );
}

/** States of the same tone. */
const STATES = { done: 'ready', failed: 'failed', cancelled: 'stopped' } as const;
