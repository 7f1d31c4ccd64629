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

/** A button that acts after confirmation; hidden from users who may only look. */
export function ActionButton({
  label,
  question,
  note,
  path,
  body,
  fields = [],
  done,
  onDone,
  isDanger = false,
}: {
  label: string;
  /** The question before it: a whole sentence. */
  question: string;
  note?: ComponentChildren;
  path: string;
  body: Readonly<Record<string, string>>;
  fields?: readonly Field[];
  /** The message after it; it may tell from the answer. */
  done: string | ((answer: never) => string);
  onDone?: () => void;
  isDanger?: boolean;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  if (!useMayAct()) return null;
  const submit = async (form: HTMLFormElement) => {
    setBusy(true);
    setProblem('');
    const said = textsOf(form);
    try {
      const answer = await act<never>(path, { ...body, ...said });
      dialog.current?.close();
      toast(typeof done === 'string' ? done : done(answer));
      onDone?.();
    } catch (thrown) {
      const { reason, message } = (thrown as ApiError).problem;
      setProblem(`${message} (${reason})`);
    }
    setBusy(false);
  };
  return (
    <>
      <button
        type="button"
        class={isDanger ? 'danger' : ''}
        onClick={() => {
          setProblem('');
          dialog.current?.showModal();
        }}
      >
        {label}
      </button>
      <dialog ref={dialog} aria-label={question}>
        <form
          onSubmit={(submitted) => {
            submitted.preventDefault();
            void submit(submitted.currentTarget);
          }}
        >
          <h2>{question}</h2>
          {note !== undefined && <p class="faint">{note}</p>}
          {fields.map(({ name, label: title, isRequired, choices }) => (
            <label key={name} class="field">
              {title}
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
          ))}
          <p role="alert" class="alert-text">
            {problem}
          </p>
          <div class="dialog-buttons">
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button type="submit" class={isDanger ? 'danger primary' : 'primary'} disabled={isBusy}>
              {label}
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}
