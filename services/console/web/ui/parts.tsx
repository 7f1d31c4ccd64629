import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { FleetHost } from '../../api/fleet';
import { FLAG_NAMES, flagsOf } from '../state/fleet-model';
import { link, usePlace } from '../state/router';
import { serverNow, useHub } from '../state/stream';
import { age, amount, className, dateOf, percent, words } from './format';

/** Usage as a bar: used of capacity, with its numbers. */
export function Bar({
  name,
  used,
  capacity,
  href,
}: {
  name: string;
  used: number;
  capacity: number;
  /** The page that lists what is used. */
  href?: string;
}) {
  const share = capacity > 0 ? used / capacity : 0;
  const level = share > 1 ? 'over' : share >= 0.9 ? 'high' : 'ok';
  return (
    <span class={`bar bar-${level}`} title={`${className(name)}: ${percent(share)} of ${amount(name, capacity)}`}>
      <span class="bar-track" aria-hidden="true">
        <span class="bar-fill" style={{ width: `${Math.min(100, share * 100)}%` }} />
      </span>
      <span class="bar-text">
        <Linked href={href}>{amount(name, used)}</Linked> <span class="faint">/ {amount(name, capacity)}</span>
      </span>
    </span>
  );
}

/** A number with its label. */
export function Figure({
  label,
  value,
  note,
  tone,
  href,
}: {
  label: string;
  /** Undefined while it is not known. */
  value: ComponentChildren;
  note?: ComponentChildren;
  tone?: string;
  /** The page that lists what is counted. */
  href?: string;
}) {
  const shown = value ?? <Skeleton width="3ch" />;
  return (
    <div class={`figure ${tone ? `tone-${tone}` : ''}`}>
      <dt>{label}</dt>
      <dd>
        <Linked href={href}>{shown}</Linked>
        {note !== undefined && <small>{note}</small>}
      </dd>
    </div>
  );
}

/** The place of something that is not known yet. */
function Skeleton({ width }: { width: string }) {
  return <span class="skeleton" style={{ width }} aria-hidden="true" />;
}

/** The usage of a class as a figure. */
export function ClassFigure({ name, used, capacity }: { name: string; used: number; capacity: number }) {
  return (
    <Figure
      label={className(name)}
      value={capacity > 0 ? percent(used / capacity) : '–'}
      note={
        <a href={link('/capacity', { class: name })}>
          {amount(name, used)} of {amount(name, capacity)}
        </a>
      }
      href={link('/capacity', { class: name })}
    />
  );
}

const TONES: Readonly<Record<string, string>> = {
  active: 'good',
  up: 'good',
  ready: 'good',
  open: 'good',
  error: 'bad',
  down: 'bad',
  silent: 'bad',
  unknown: 'bad',
  failed: 'bad',
  refused: 'bad',
  timed_out: 'bad',
  not_claimed: 'warn',
  pending: 'warn',
  not_ready: 'warn',
  closed: 'warn',
  drained: 'warn',
  disabled: 'warn',
  draining: 'warn',
  doubtful: 'warn',
  failing: 'warn',
  deleted: 'quiet',
  stopped: 'quiet',
  shelved_offloaded: 'quiet',
};

/** A state, as a word and a shape of its own. */
export function State({ state, label }: { state: string; label?: string }) {
  const tone = TONES[state] ?? 'busy';
  return <span class={`state state-${tone}`}>{label ?? words(state)}</span>;
}

/** The conditions of a host, the worst first; `up` without any. */
export function HostStates({ host }: { host: FleetHost }) {
  const flags = flagsOf(host);
  if (flags.length === 0) return <State state="up" />;
  return (
    <>
      {flags.map((flag) => (
        <State key={flag} state={flag} label={FLAG_NAMES[flag].toLowerCase()} />
      ))}
    </>
  );
}

/** A time ago, live; the date is its title. */
export function Ago({ ms }: { ms: number }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  if (ms === 0) return <span class="faint">never</span>;
  return (
    <time dateTime={new Date(ms).toISOString()} title={dateOf(ms)}>
      {age(serverNow() - ms)}
    </time>
  );
}

/** A part of a page with its heading. */
export function Section({
  title,
  aside,
  id = `section-${title.toLowerCase().replaceAll(/\W+/g, '-')}`,
  children,
}: {
  title: string;
  aside?: ComponentChildren;
  /** Its anchor, for links to it. */
  id?: string;
  children: ComponentChildren;
}) {
  return (
    <section aria-labelledby={id} class="panel">
      <header>
        <h2 id={id}>{title}</h2>
        {aside !== undefined && <div class="aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** Shown while the first data is awaited; the banner reports missing things. */
export function Loading({ what }: { what: string }) {
  const { problem } = useHub();
  const { path } = usePlace();
  if (problem !== undefined) {
    return (
      <div class="empty">
        <h1>Nothing to show</h1>
        <p>
          {path.startsWith('/instances') ? (
            <a href="/instances">All instances</a>
          ) : (
            <a href="/fleet?view=list">All hosts</a>
          )}
        </p>
      </div>
    );
  }
  return (
    <div role="status" class="loading">
      <span class="visually-hidden">Reading {what} …</span>
      {[28, 92, 100, 100, 96, 60].map((share, n) => (
        <Skeleton key={n} width={`${share}%`} />
      ))}
    </div>
  );
}

/** A project, as a link to its instances. */
export function ProjectLink({ id }: { id: string }) {
  return id === '' ? <span class="faint">–</span> : <a href={link('/instances', { project: id })}>{id}</a>;
}

/** A number as a link to what it counts, where a page lists that. */
export function Linked({ href, children }: { href: string | undefined; children: ComponentChildren }) {
  return href ? <a href={href}>{children}</a> : <>{children}</>;
}

export function HostLink({ host }: { host: string }) {
  return host === '' ? <span class="faint">–</span> : <a href={`/hosts/${encodeURIComponent(host)}`}>{host}</a>;
}

export function HostLinks({ hosts }: { hosts: readonly string[] }) {
  return (
    <>
      {hosts.map((host, n) => (
        <span key={host}>
          {n > 0 && ', '}
          <HostLink host={host} />
        </span>
      ))}
    </>
  );
}

export function InstanceLink({ uuid, name }: { uuid: string; name: string }) {
  return (
    <a href={`/instances/${uuid}`} title={uuid}>
      {name || uuid.slice(0, 8)}
    </a>
  );
}

/** A number of attempts, as a link to them. */
export function Attempts({ uuid, count }: { uuid: string; count: number }) {
  return (
    <a href={`/instances/${uuid}#story`} aria-label={`${count} attempts`}>
      {count}
    </a>
  );
}

/** A label with its value; an empty value is hidden. */
export type Fact = readonly [label: string, value: preact.ComponentChildren];

export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== '')
        .map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
