import { useEffect, useRef, useState } from 'preact/hooks';
import type { Found } from '../../api/search';
import { read } from '../state/api';
import { go, link } from '../state/router';
import { term } from './format';

interface Entry {
  readonly key: string;
  readonly kind: string;
  readonly label: string;
  readonly note: string;
  readonly url: string;
}

const LIST = 'palette-list';
const ASK_AFTER_MS = 120;

/** Pages and everything that has a name: opened by its button, `/` or Ctrl-K, walked over by arrow keys. */
export function Palette({ pages }: { pages: readonly (readonly [url: string, label: string])[] }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const [found, setFound] = useState<{ readonly text: string; readonly entries: readonly Entry[] }>(NOTHING);
  const [at, setAt] = useState(0);
  /** Enter opens the chosen entry, once the answer to the typed text is there. */
  const [isEntered, setEntered] = useState(false);
  const open = () => {
    if (dialog.current?.open) return;
    setText('');
    setFound(NOTHING);
    setAt(0);
    setEntered(false);
    dialog.current?.showModal();
    input.current?.focus();
  };
  useEffect(() => {
    const onKey = (key: KeyboardEvent) => {
      const isSlash = key.key === '/' && !isTyping(key.target) && !key.ctrlKey && !key.metaKey && !key.altKey;
      const isCtrlK = key.key.toLowerCase() === 'k' && (key.ctrlKey || key.metaKey);
      if ((!isSlash && !isCtrlK) || document.querySelector('dialog[open]')) return;
      key.preventDefault();
      open();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === '') return setFound(NOTHING);
    const abort = new AbortController();
    const timer = setTimeout(() => {
      read<readonly Found[]>(`/api/search?q=${encodeURIComponent(wanted)}`, abort.signal).then(
        (all) => setFound({ text: wanted, entries: all.map(entryOf) }),
        () => !abort.signal.aborted && setFound({ text: wanted, entries: [] }),
      );
    }, ASK_AFTER_MS);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [text]);

  const wanted = text.trim();
  const toPages = pages
    .filter(([, label]) => wanted === '' || label.toLowerCase().startsWith(wanted.toLowerCase()))
    .map(([url, label]): Entry => ({ key: url, kind: 'page', label, note: '', url }));
  const entries = [...(wanted === '' ? [] : found.entries), ...toPages];
  const isSettled = wanted === '' || found.text === wanted;
  const chosen = Math.min(at, entries.length - 1);
  const choose = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    dialog.current?.close();
    go(entry.url);
  };
  // An answer to an earlier text must not decide.
  useEffect(() => {
    if (!isEntered || !isSettled) return;
    setEntered(false);
    choose(entries[chosen]);
  }, [isEntered, isSettled]);
  const onKey = (key: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[key.key];
    if (by !== undefined) {
      key.preventDefault();
      setAt((chosen + by + entries.length) % Math.max(1, entries.length));
    }
    if (key.key === 'Enter') {
      key.preventDefault();
      setEntered(true);
    }
  };
  return (
    <>
      <button type="button" class="search-button" onClick={open} aria-keyshortcuts="/ Control+K">
        Search <kbd aria-hidden="true">/</kbd>
      </button>
      <dialog
        ref={dialog}
        class="palette"
        aria-label="Search"
        onClose={() => setEntered(false)}
        onClick={(click) => click.target === dialog.current && dialog.current?.close()}
      >
        <input
          ref={input}
          type="text"
          role="combobox"
          aria-expanded={entries.length > 0}
          aria-controls={LIST}
          aria-activedescendant={entries[chosen] ? `${LIST}-${chosen}` : undefined}
          aria-label="Find a host, an instance, a project or a page"
          placeholder="Host, instance, project, zone or page"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(typed) => {
            setText(typed.currentTarget.value);
            setAt(0);
            setEntered(false);
          }}
          onKeyDown={onKey}
        />
        <ul id={LIST} role="listbox" aria-label="Results" class="palette-list" hidden={entries.length === 0}>
          {entries.map((entry, n) => (
            <li
              key={entry.key}
              id={`${LIST}-${n}`}
              role="option"
              aria-selected={n === chosen}
              onMouseMove={() => setAt(n)}
              onClick={() => choose(entry)}
            >
              <span class="palette-kind">{entry.kind}</span> <strong>{entry.label}</strong>{' '}
              <span class="faint">{entry.note}</span>
            </li>
          ))}
        </ul>
        <p class="palette-foot faint" role="status">
          {entries.length === 0 && isSettled
            ? `No match for “${wanted}”`
            : '↑ ↓ to choose, Enter to open, Esc to close'}
        </p>
      </dialog>
    </>
  );
}

const NOTHING = { text: '', entries: [] } as const;

function entryOf({ kind, id, label, note }: Found): Entry {
  const urls = {
    host: `/hosts/${encodeURIComponent(id)}`,
    instance: `/instances/${id}`,
    project: link('/instances', { project: id }),
    request: link('/nova', { request: id }),
    zone: link('/fleet', { filter: term('zone', id), view: 'list' }),
  };
  return { key: `${kind} ${id}`, kind, label, note, url: urls[kind] };
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
