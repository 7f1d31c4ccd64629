import { type BulkOutcome, type InstanceRow, MAX_BULK } from '../../api/instances';
import { ActionButton } from '../ui/action';
import { number, plural } from '../ui/format';

interface Bulk {
  readonly action: string;
  readonly label: string;
  /** The consequence, after their number: `27 instances will stop.` */
  readonly will: string;
  readonly done: string;
  /** The states in which it may be asked for; without them every state. */
  readonly from?: readonly string[];
  readonly isDanger?: boolean;
}

const ACTIONS: readonly Bulk[] = [
  { action: 'stop', label: 'Stop', will: 'will stop', done: 'are stopping', from: ['active'] },
  { action: 'start', label: 'Start', will: 'will start', done: 'are starting', from: ['stopped'] },
  {
    action: 'live_migrate',
    label: 'Live-migrate',
    will: 'will move to other hosts while they run',
    done: 'are moving',
    from: ['active'],
  },
  {
    action: 'evacuate',
    label: 'Evacuate',
    will: 'will be built again on other hosts',
    done: 'are being evacuated',
    from: ['unknown'],
  },
  {
    action: 'terminate',
    label: 'Terminate',
    will: 'will be permanently deleted',
    done: 'are being deleted',
    isDanger: true,
  },
];

/** Names that a confirmation spells out; it counts the rest. */
const NAMED = 8;

/** The actions on the chosen instances, each with one confirmation. */
export function BulkActions({ rows, onDone }: { rows: readonly InstanceRow[]; onDone: () => void }) {
  const tooMany = rows.length > MAX_BULK;
  return (
    <div class="bulk" role="group" aria-label="Actions on the selected instances">
      <span role="status">
        {rows.length === 0
          ? 'Select instances to act on them together.'
          : `${number(rows.length)} selected${tooMany ? `: at most ${MAX_BULK} at once` : ''}`}
      </span>
      {rows.length > 0 &&
        !tooMany &&
        ACTIONS.map(({ action, label, will, done, from, isDanger = false }) => {
          const meant = rows.filter(({ state }) => (from === undefined ? !GONE.includes(state) : from.includes(state)));
          if (meant.length === 0) return null;
          const left = rows.length - meant.length;
          return (
            <ActionButton
              key={action}
              label={meant.length === rows.length ? label : `${label} ${number(meant.length)}`}
              question={`${plural(meant.length, 'instance')} ${will}.`}
              note={
                <>
                  {namesOf(meant)}
                  {left > 0 && ` The other ${number(left)} selected are in other states and stay as they are.`}
                </>
              }
              path="/api/instances/actions"
              body={{ action, uuids: meant.map(({ uuid }) => uuid).join() }}
              done={(answer: BulkOutcome) => outcomeOf(answer, done)}
              onDone={onDone}
              isDanger={isDanger}
            />
          );
        })}
    </div>
  );
}

const GONE: readonly string[] = ['deleting', 'deleted'];

function namesOf(rows: readonly InstanceRow[]): string {
  const names = rows.slice(0, NAMED).map(({ name, host }) => (host === '' ? name : `${name} on ${host}`));
  const more = rows.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${number(more)} more` : ''}.`;
}

function outcomeOf({ done, refused }: BulkOutcome, doing: string): string {
  const [first] = refused;
  const said = `${plural(done, 'instance')} ${doing}.`;
  if (first === undefined) return said;
  return `${said} ${plural(refused.length, 'request')} refused: ${first.message}`;
}
