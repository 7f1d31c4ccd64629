import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { type ApiError, act } from '../state/api';
import { useMayAct } from '../state/session';
import { textsOf } from './form';
import { toast } from './toasts';

/** A further argument of an action. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly isRequired?: boolean;
  /** The choices; without them a text. */
  readonly choices?: readonly string[];
}

interface ActionProps {
  readonly label: string;
  /** The question before it: a whole sentence. */
  readonly question: string;
  readonly note?: ComponentChildren;
  readonly path: string;
  readonly body: Readonly<Record<string, string>>;
  readonly fields?: readonly Field[];
  /** The message after it; it may tell from the answer. */
  readonly done: string | ((answer: never) => string);
  readonly onDone?: () => void;
  readonly isDanger?: boolean;
}

/** A button that acts after confirmation; hidden from users who may only look. */
export function ActionButton(props: ActionProps) {
  const { label, question, isDanger } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  /** Counts the uses: each begins with empty fields. */
  const [uses, setUses] = useState(0);
  if (!useMayAct()) return null;
  return (
    <>
      <button type="button" class={isDanger ? 'danger' : ''} onClick={() => dialog.current?.showModal()}>
        {label}
      </button>
      <dialog ref={dialog} aria-label={question} onClose={() => setUses((n) => n + 1)}>
        <Confirmation key={uses} {...props} onClose={() => dialog.current?.close()} />
      </dialog>
    </>
  );
}

function Confirmation({
  label,
  question,
  note,
  path,
  body,
  fields = [],
  done,
  onDone,
  isDanger = false,
  onClose,
}: ActionProps & { readonly onClose: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const submit = async (form: HTMLFormElement) => {
    setBusy(true);
    setProblem('');
    try {
      const answer = await act<never>(path, { ...body, ...textsOf(form) });
      onClose();
      toast(typeof done === 'string' ? done : done(answer));
      onDone?.();
    } catch (thrown) {
      const { reason, message } = (thrown as ApiError).problem;
      setProblem(`${message} (${reason})`);
    }
    setBusy(false);
  };
  return (
    <form
      onSubmit={(submitted) => {
        submitted.preventDefault();
        void submit(submitted.currentTarget);
      }}
    >
      <h2>{question}</h2>
      {note !== undefined && <p class="faint">{note}</p>}
      {fields.map((field) => (
        <FieldInput key={field.name} field={field} />
      ))}
      <p role="alert" class="alert-text">
        {problem}
      </p>
      <div class="dialog-buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class={isDanger ? 'danger primary' : 'primary'} disabled={isBusy}>
          {label}
        </button>
      </div>
    </form>
  );
}

function FieldInput({ field: { name, label, isRequired, choices } }: { field: Field }) {
  return (
    <label class="field">
      {label}
      {choices === undefined ? (
        <input name={name} required={isRequired} autocomplete="off" />
      ) : (
        <select name={name} required={isRequired}>
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      )}
    </label>
  );
}
