import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Session } from '../api/session';
import { read } from './state/api';
import { go, usePlace } from './state/router';
import { type Connection, useHub } from './state/stream';
import { toggleTheme, useTheme } from './state/theme';
import { textsOf } from './ui/form';
import { Toasts } from './ui/toasts';

const PAGES = [
  ['/fleet', 'Fleet'],
  ['/builds', 'Builds'],
  ['/capacity', 'Capacity'],
  ['/explain', 'Explain'],
] as const;

const CONNECTIONS: Readonly<Record<Connection, string>> = {
  connecting: 'Connecting',
  live: 'Live',
  lost: 'Reconnecting',
  paused: 'Paused',
};

/** The frame of every page: navigation, freshness of the data, and the user. */
export function Frame({
  session,
  onSignOut,
  children,
}: {
  session: Session;
  onSignOut: () => void;
  children: ComponentChildren;
}) {
  const { path } = usePlace();
  const { shell, connection, problem } = useHub();
  const theme = useTheme();
  const stale = connection === 'lost' ? 'The console does not answer: what is shown may be old.' : shell?.stale;
  const main = useRef<HTMLElement>(null);
  const shownPath = useRef(path);
  // Moves the focus of keyboards and screen readers into the new page, not behind the link in the old one.
  useEffect(() => {
    if (shownPath.current !== path) main.current?.focus({ preventScroll: true });
    shownPath.current = path;
  }, [path]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href="/fleet" aria-label="Berth, the fleet">
          <img src="/icon.svg" alt="" width="20" height="20" />
          Berth
        </a>
        <nav aria-label="Pages">
          {PAGES.map(([url, label]) => {
            const isHere = path === url || (url === '/fleet' && path === '/');
            return (
              <a key={url} href={url} aria-current={isHere ? 'page' : undefined}>
                {label}
              </a>
            );
          })}
          <a href="/docs/">Docs</a>
        </nav>
        <Search />
        <span class={`connection connection-${connection}`} role="status">
          <span class="dot" aria-hidden="true" />
          {CONNECTIONS[connection]}
        </span>
        <button
          type="button"
          class="icon"
          onClick={toggleTheme}
          aria-label={theme === 'dark' ? 'Light theme' : 'Dark theme'}
        >
          {theme === 'dark' ? '☀' : '☾'}
        </button>
        <span class="who" title={session.roles.join(', ')}>
          {session.userId}
          {!session.mayAct && <small>read only</small>}
        </span>
        {session.auth !== 'noauth' && (
          <button type="button" class="quiet" onClick={onSignOut}>
            Sign out
          </button>
        )}
      </header>
      {stale ? (
        <p class="banner" role="alert">
          {stale}
        </p>
      ) : null}
      {problem && (
        <p class="banner" role="alert">
          {problem.message} <code>{problem.reason}</code>
        </p>
      )}
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
      <Toasts />
    </>
  );
}

interface Found {
  readonly kind: 'host' | 'instance';
  readonly id: string;
  readonly label: string;
}

const LIST = 'search-found';

/** Finds hosts by a part of their names, instances by the beginning of their UUIDs or a part of their names. */
function Search() {
  const [found, setFound] = useState<readonly Found[]>([]);
  const open = ({ kind, id }: Found) => go(kind === 'host' ? `/hosts/${encodeURIComponent(id)}` : `/instances/${id}`);
  const look = async (text: string) => {
    setFound(
      text.trim() === ''
        ? []
        : await read<readonly Found[]>(`/api/search?q=${encodeURIComponent(text)}`).catch(() => []),
    );
  };
  return (
    <form
      class="search"
      role="search"
      onSubmit={(submitted) => {
        submitted.preventDefault();
        const text = textsOf(submitted.currentTarget)['q'];
        const chosen = found.find(({ label }) => label === text) ?? found[0];
        if (!chosen) return;
        open(chosen);
        submitted.currentTarget.reset();
        setFound([]);
      }}
    >
      <input
        name="q"
        type="search"
        list={LIST}
        placeholder="Host or instance"
        aria-label="Find a host or an instance"
        autocomplete="off"
        onInput={(input) => void look(input.currentTarget.value)}
      />
      <datalist id={LIST}>
        {found.map(({ kind, id, label }) => (
          <option key={id} value={label}>
            {kind}
          </option>
        ))}
      </datalist>
    </form>
  );
}
