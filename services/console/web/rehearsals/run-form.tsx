import { useState } from 'preact/hooks';
import { MAX_SEEDS } from '../../api/rehearsals';
import { type ApiError, act } from '../state/api';
import { useChoices } from '../state/choices';
import { go } from '../state/router';
import { textsOf } from '../ui/form';
import { FIELDS, OPERATIONS, type RunField } from './operations';

/** Starts a rehearsal: an operation, its fields, and what goes on meanwhile. */
export function RunForm({ onStart }: { onStart: () => void }) {
  const choices = useChoices();
  const [operation, setOperation] = useState('drain');
  const [goal, setGoal] = useState('even-out');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const { fields = [] } = OPERATIONS.find(({ name }) => name === operation) ?? {};
  const submit = async (form: HTMLFormElement) => {
    setBusy(true);
    setProblem('');
    try {
      await act('/api/rehearsals/actions', { action: 'start', ...textsOf(form) });
      onStart();
      // Without one that is chosen the newest is.
      go('/rehearsals');
    } catch (thrown) {
      const { reason, message } = (thrown as ApiError).problem;
      setProblem(`${message} (${reason})`);
    }
    setBusy(false);
  };
  const isAsked = ({ goals }: RunField) => goals === undefined || goals.includes(goal);
  return (
    <form
      class="fields"
      onSubmit={(submitted) => {
        submitted.preventDefault();
        void submit(submitted.currentTarget);
      }}
    >
      <label class="field">
        Operation
        <select name="operation" value={operation} onChange={(change) => setOperation(change.currentTarget.value)}>
          {OPERATIONS.map(({ name, label }) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {fields
        .map((name): RunField => FIELDS[name])
        .filter(isAsked)
        .map((field) => (
          <Input
            key={`${operation} ${field.name}`}
            field={field}
            offered={choices && field.offers ? field.offers(choices) : []}
            onChoose={field.name === 'goal' ? setGoal : undefined}
          />
        ))}
      <Circumstances />
      <p role="alert" class="alert-text">
        {problem}
      </p>
      <button type="submit" class="primary" disabled={isBusy}>
        Rehearse
      </button>
      <p class="faint note">
        A process of its own reads the fleet. One at a time for each user; up to {MAX_SEEDS} repetitions.
      </p>
    </form>
  );
}

/** Fields of every operation. */
function Circumstances() {
  return (
    <details>
      <summary>Chances, traffic and weights</summary>
      <div class="fields">
        <Input field={FIELDS.seeds} offered={[]} />
        <Input field={FIELDS.traffic} offered={[]} />
        <Input field={FIELDS.profile} offered={[]} />
        <Input field={FIELDS.weights} offered={[]} />
      </div>
    </details>
  );
}

function Input({
  field: { name, label, help, placeholder, choices, isNumber, isCheck },
  offered,
  onChoose,
}: {
  field: RunField;
  offered: readonly string[];
  onChoose?: ((value: string) => void) | undefined;
}) {
  if (isCheck) {
    return (
      <label class="check">
        <input type="checkbox" name={name} value="yes" />
        {label}
      </label>
    );
  }
  const list = offered.length > 0 ? `rehearse-${name}` : undefined;
  return (
    <label class="field">
      {label}
      {choices ? (
        <select name={name} onChange={(change) => onChoose?.(change.currentTarget.value)}>
          {choices.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      ) : (
        <input
          name={name}
          placeholder={placeholder}
          list={list}
          inputMode={isNumber ? 'numeric' : undefined}
          autocomplete="off"
        />
      )}
      {list && (
        <datalist id={list}>
          {offered.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
      {help && <small class="faint">{help}</small>}
    </label>
  );
}
