import type { Action } from '../../api/stream';
import { words } from '../ui/format';
import { Ago, HostLink, InstanceLink, Section, State } from '../ui/parts';
import { type Column, VirtualTable } from '../ui/virtual-table';

/** Actions of operators in consoles, the newest first. */
export function ActivityLog({ actions }: { actions: readonly Action[] }) {
  return (
    <Section title="Activity log" id="activity-log">
      <VirtualTable
        label="Activity log"
        columns={ACTION_COLUMNS}
        rows={actions}
        keyOf={({ id }) => id}
        height="300px"
        empty="No operator has acted in a console since this one started."
      />
    </Section>
  );
}

const ACTION_COLUMNS: readonly Column<Action>[] = [
  { key: 'at', head: 'When', width: '6rem', cell: ({ atMs }) => <Ago ms={atMs} /> },
  { key: 'who', head: 'Who', width: 'minmax(5rem, 0.6fr)', cell: ({ userId }) => userId },
  { key: 'what', head: 'Action', width: 'minmax(8rem, 0.9fr)', cell: ({ action }) => words(action) },
  {
    key: 'target',
    head: 'On',
    width: 'minmax(8rem, 1fr)',
    cell: ({ action, target }) => {
      if (action.startsWith('host_')) return <HostLink host={target} />;
      return action.startsWith('instance_') ? <InstanceLink uuid={target} name="" /> : target;
    },
  },
  {
    key: 'result',
    head: 'Result',
    width: 'minmax(10rem, 1.6fr)',
    cell: ({ error, details }) =>
      error ? (
        <>
          <State state="refused" /> {error.message}
        </>
      ) : (
        <>
          <State state="active" label="done" /> <span class="faint">{Object.values(details).join(', ')}</span>
        </>
      ),
  },
];
