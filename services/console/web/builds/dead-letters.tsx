import { useEffect, useState } from 'preact/hooks';
import type { DeadLetterRow } from '../../api/builds';
import { read } from '../state/api';
import { ActionButton } from '../ui/action';
import { number, words } from '../ui/format';
import { Empty, Section } from '../ui/parts';

/** Dead letters: read again when their count changes, and requeued by hand. */
export function DeadLetters({ count }: { count: number }) {
  const [letters, setLetters] = useState<readonly DeadLetterRow[]>([]);
  const [looked, setLooked] = useState(0);
  useEffect(() => {
    if (count <= 0) return setLetters([]);
    void read<readonly DeadLetterRow[]>('/api/dead-letters').then(setLetters, () => {});
  }, [count, looked]);
  const again = (body: Readonly<Record<string, string>>, question: string) => (
    <ActionButton
      label="Requeue"
      question={question}
      note="The message returns to its queue. Mend the cause first, or it becomes a dead letter again."
      path="/api/dead-letters/actions"
      body={{ action: 'requeue', ...body }}
      done="Requeued 1 message."
    />
  );
  return (
    <Section
      title="Dead letters"
      id="dead-letters"
      aside={
        count > 0 ? (
          <button type="button" onClick={() => setLooked(looked + 1)}>
            Refresh
          </button>
        ) : (
          number(Math.max(0, count))
        )
      }
    >
      {letters.length === 0 ? (
        <Empty>{count > 0 ? 'Reading the dead letters …' : 'There are no dead letters.'}</Empty>
      ) : (
        <table class="simple">
          <thead>
            <tr>
              <th scope="col">Type</th>
              <th scope="col">Queue</th>
              <th scope="col">Reason</th>
              <th scope="col">Why</th>
              <th scope="col" class="num">
                Bytes
              </th>
              <th scope="col">
                <span class="visually-hidden">Action</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {letters.map(({ id, type, queue, reason, message, bytes }) => (
              <tr key={id}>
                <td>
                  <code title={id}>{type.split('.').at(-1) || '–'}</code>
                </td>
                <td>{queue || '–'}</td>
                <td>{words(reason)}</td>
                <td class="because">{message}</td>
                <td class="num">{number(bytes)}</td>
                <td>
                  {queue !== '' &&
                    reason !== 'expired' &&
                    again({ id }, `Requeue this ${type.split('.').at(-1)} to ${queue}?`)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}
