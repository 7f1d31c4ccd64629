import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Session } from '../api/session';
import type { HostCounts } from '../api/stream';
import { usePlace } from './state/router';
import { type Connection, useHub } from './state/stream';
import { toggleTheme, useTheme } from './state/theme';
import { number, percent } from './ui/format';
import { Palette } from './ui/palette';
import { Toasts } from './ui/toasts';

const PAGES = [
  ['/fleet', 'Fleet'],
  ['/instances', 'Instances'],
  ['/builds', 'Builds'],
  ['/capacity', 'Capacity'],
  ['/guarantees', 'Guarantees'],
  ['/reservations', 'Reservations'],
  ['/rehearsals', 'Rehearsals'],
  ['/explain', 'Explain'],
  ['/health', 'Health'],
] as const;

const NOVA = ['/nova', 'Nova'] as const;

/** From this share of hosts down the banner says so. */
const MANY_DOWN = 0.1;

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
  const stale = connection === 'lost' ? 'The console does not answer. This page may be out of date.' : shell?.stale;
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
      <Top session={session} onSignOut={onSignOut} />
      {stale ? (
        <p class="banner" role="alert">
          {stale}
        </p>
      ) : null}
      <DownBanner hosts={shell?.hosts} />
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

function Top({ session, onSignOut }: { session: Session; onSignOut: () => void }) {
  const { path } = usePlace();
  const { shell, connection } = useHub();
  const theme = useTheme();
  const pages = shell?.hasNova ? [...PAGES, NOVA] : PAGES;
  return (
    <header class="top">
      <a class="brand" href="/fleet" aria-label="Berth, the fleet">
        <img src="/icon.svg" alt="" width="20" height="20" />
        Berth
      </a>
      <nav aria-label="Pages">
        {pages.map(([url, label]) => {
          const isHere = path === url || (url === '/fleet' && path === '/');
          return (
            <a key={url} href={url} aria-current={isHere ? 'page' : undefined}>
              {label}
            </a>
          );
        })}
        <a href="/docs/">Docs</a>
      </nav>
      <Palette pages={pages} />
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
  );
}

/** Says that a large part of the fleet is down. */
function DownBanner({ hosts }: { hosts: HostCounts | undefined }) {
  if (hosts === undefined || hosts.down === 0 || hosts.down < hosts.all * MANY_DOWN) return null;
  return (
    <p class="banner banner-bad" role="status">
      <strong>
        {number(hosts.down)} of {number(hosts.all)} hosts are down
      </strong>{' '}
      ({percent(hosts.down / hosts.all)}). <a href="/fleet?show=down&view=list">List them</a> or see{' '}
      <a href="/health">Health</a>.
    </p>
  );
}
