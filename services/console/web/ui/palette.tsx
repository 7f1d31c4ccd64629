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

type Pages = readonly (readonly [url: string, label: string])[];

/** Pages and everything that has a name: opened by its button, `/` or Ctrl-K. */
export function Palette({ pages }: { pages: Pages }) {
  const dialog = useRef<HTMLDialogElement>(null);
  /** Counts the uses: each begins with an empty text. */
  const [uses, setUses] = useState(0);
  const open = () => dialog.current?.showModal();
  const close = () => dialog.current?.close();
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
  return (
    <>
      <button type="button" class="search-button" onClick={open} aria-keyshortcuts="/ Control+K">
        Search <kbd aria-hidden="true">/</kbd>
      </button>
      <dialog
        ref={dialog}
        class="palette"
        aria-label="Search"
        onClose={() => setUses((n) => n + 1)}
        onClick={(click) => click.target === dialog.current && close()}
      >
        <Finder key={uses} pages={pages} onChosen={close} />
      </dialog>
    </>
  );
}

/** A text and its entries, walked over by arrow keys. */
function Finder({ pages, onChosen }: { pages: Pages; onChosen: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  /** Enter opens the chosen entry, once the answer to the typed text is there. */
  const [isEntered, setEntered] = useState(false);
  const wanted = text.trim();
  const { entries, isSettled } = useEntries(wanted, pages);
  const chosen = Math.min(at, entries.length - 1);
  const choose = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    onChosen();
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
      <input
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
      <Results entries={entries} chosen={chosen} onPoint={setAt} onChoose={choose} />
      <p class="palette-foot faint" role="status">
        {entries.length === 0 && isSettled ? `No match for “${wanted}”` : '↑ ↓ to choose, Enter to open, Esc to close'}
      </p>
    </>
  );
}

function Results({
  entries,
  chosen,
  onPoint,
  onChoose,
}: {
  entries: readonly Entry[];
  chosen: number;
  onPoint: (at: number) => void;
  onChoose: (entry: Entry) => void;
}) {
  return (
    <ul id={LIST} role="listbox" aria-label="Results" class="palette-list" hidden={entries.length === 0}>
      {entries.map((entry, n) => (
        <li
          key={entry.key}
          id={`${LIST}-${n}`}
          role="option"
          aria-selected={n === chosen}
          onMouseMove={() => onPoint(n)}
          onClick={() => onChoose(entry)}
        >
          <span class="palette-kind">{entry.kind}</span> <strong>{entry.label}</strong>{' '}
          <span class="faint">{entry.note}</span>
        </li>
      ))}
    </ul>
  );
}

/** Entries of a text, pages last; settled once the console has answered to it. */
function useEntries(wanted: string, pages: Pages): { readonly entries: readonly Entry[]; readonly isSettled: boolean } {
  const [found, setFound] = useState<{ readonly text: string; readonly entries: readonly Entry[] }>(NOTHING);
  useEffect(() => {
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
  }, [wanted]);
  const toPages = pages
    .filter(([, label]) => wanted === '' || label.toLowerCase().startsWith(wanted.toLowerCase()))
    .map(([url, label]): Entry => ({ key: url, kind: 'page', label, note: '', url }));
  return {
    entries: [...(wanted === '' ? [] : found.entries), ...toPages],
    isSettled: wanted === '' || found.text === wanted,
  };
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
