import { useEffect, useState } from 'preact/hooks';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isBad: boolean;
}

const SHOWN_MS = 6_000;
let toasts: readonly Toast[] = [];
let nextId = 1;
let redraw = () => {};

/** Shows the outcome of an action for a moment. */
export function toast(text: string, isBad = false): void {
  const id = nextId++;
  toasts = [...toasts, { id, text, isBad }];
  redraw();
  setTimeout(() => {
    toasts = toasts.filter((one) => one.id !== id);
    redraw();
  }, SHOWN_MS);
}

export function Toasts() {
  const [, update] = useState(0);
  useEffect(() => {
    redraw = () => update((n) => n + 1);
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map(({ id, text, isBad }) => (
        <p key={id} class={isBad ? 'toast toast-bad' : 'toast'}>
          {text}
        </p>
      ))}
    </div>
  );
}
