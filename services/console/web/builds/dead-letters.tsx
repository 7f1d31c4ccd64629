import { useEffect, useState } from 'preact/hooks';
import type { DeadLetterRow } from '../../api/builds';
import { read } from '../state/api';
import { ActionButton } from '../ui/action';
import { number, words } from '../ui/format';
import { Empty, Section } from '../ui/parts';
import { Table, type TableColumn } from '../ui/table';

/** Dead letters: read again when their count changes, and requeued by hand. */
export function DeadLetters({ count }: { count: number }) {
  const [letters, setLetters] = useState<readonly DeadLetterRow[]>([]);
  const [looked, setLooked] = useState(0);
  useEffect(() => {
    if (count <= 0) return setLetters([]);
    void read<readonly DeadLetterRow[]>('/api/dead-letters').then(setLetters, () => {});
  }, [count, looked]);
  const refresh = (
    <button type="button" onClick={() => setLooked(looked + 1)}>
      Refresh
    </button>
  );
  return (
    <Section title="Dead letters" id="dead-letters" aside={count > 0 ? refresh : number(Math.max(0, count))}>
      {letters.length === 0 ? (
        <Empty>{count > 0 ? 'Reading the dead letters …' : 'There are no dead letters.'}</Empty>
      ) : (
        <Table columns={COLUMNS} rows={letters} keyOf={({ id }) => id} />
      )}
    </Section>
  );
}

const COLUMNS: readonly TableColumn<DeadLetterRow>[] = [
  { head: 'Type', cell: ({ id, type }) => <code title={id}>{kindOf(type) || '–'}</code> },
  { head: 'Queue', cell: ({ queue }) => queue || '–' },
  { head: 'Reason', cell: ({ reason }) => words(reason) },
  { head: 'Why', kind: 'because', cell: ({ message }) => message },
  { head: 'Bytes', isNumber: true, cell: ({ bytes }) => number(bytes) },
  { head: 'Action', cell: (letter) => <Requeue letter={letter} /> },
];

function Requeue({ letter: { id, type, queue, reason } }: { letter: DeadLetterRow }) {
  if (queue === '' || reason === 'expired') return null;
  return (
    <ActionButton
      label="Requeue"
      question={`Requeue this ${kindOf(type)} to ${queue}?`}
      note="The message returns to its queue. Mend the cause first, or it becomes a dead letter again."
      path="/api/dead-letters/actions"
      body={{ action: 'requeue', id }}
      done="Requeued 1 message."
    />
  );
}

/** The name of a message without its package. */
function kindOf(type: string): string {
  return type.split('.').at(-1) ?? '';
}
