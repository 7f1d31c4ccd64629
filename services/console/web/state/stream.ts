import { useEffect, useState } from 'preact/hooks';
import type { Problem } from '../../api/session';
import type { Shell } from '../../api/stream';

/** The state of the open page's stream. */
export type Connection = 'connecting' | 'live' | 'lost' | 'paused';

interface Hub {
  shell: Shell | undefined;
  connection: Connection;
  problem: Problem | undefined;
  /** The lead of the server's clock over the browser's. */
  aheadMs: number;
}

const hub: Hub = { shell: undefined, connection: 'connecting', problem: undefined, aheadMs: 0 };
const listeners = new Set<() => void>();
let onSignedOut = () => {};

/** The server's time now, milliseconds since the epoch. */
export function serverNow(): number {
  return browserNow() + hub.aheadMs;
}

function browserNow(): number {
  // oxlint-disable-next-line no-restricted-properties -- a page has no other clock
  return Date.now();
}

/** Calls back when the token is no longer valid. */
export function whenSignedOut(action: () => void): void {
  onSignedOut = action;
}

/** The data of the frame around the pages. */
export function useHub(): Readonly<Hub> {
  const [, redraw] = useState(0);
  useEffect(() => {
    const draw = () => redraw((n) => n + 1);
    listeners.add(draw);
    return () => {
      listeners.delete(draw);
    };
  }, []);
  return hub;
}

/** Handlers of a page's own events, by name; each gets an event's text. */
export type Handlers = Readonly<Record<string, (data: string) => void>>;

const RETRY_MS = 1_000;

/**
 * Listens to a page's stream while it is shown. One stream at a time: a browser opens six connections to a server, and
 * a hidden page needs none. A broken stream is reopened until it works.
 */
export function listenTo(query: string, handlers: Handlers): () => void {
  let source: EventSource | undefined;
  let timer: number | undefined;

  const open = () => {
    close();
    source = new EventSource(`/api/stream?${query}`);
    source.addEventListener('shell', ({ data }: MessageEvent<string>) => {
      const shell = JSON.parse(data) as Shell;
      update({ shell, connection: 'live', aheadMs: shell.nowMs - browserNow() });
    });
    source.addEventListener('problem', ({ data }: MessageEvent<string>) => {
      update({ problem: JSON.parse(data) as Problem });
    });
    source.addEventListener('signed_out', () => {
      close();
      onSignedOut();
    });
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, ({ data }: MessageEvent<string>) => {
        if (hub.problem !== undefined) update({ problem: undefined });
        handle(data);
      });
    }
    source.addEventListener('error', () => {
      // EventSource gives up after an answer that is no stream, such as a 503 of a proxy.
      update({ connection: 'lost' });
      close();
      timer = setTimeout(() => void reopen(), RETRY_MS);
    });
  };
  const reopen = async () => {
    // A restarted console may refuse the token: an EventSource does not show that.
    const status = await fetch('/api/session').then(
      (response) => response.status,
      () => 0,
    );
    if (status === 401 || status === 403) return onSignedOut();
    if (timer !== undefined) open();
  };
  const close = () => {
    source?.close();
    clearTimeout(timer);
    timer = undefined;
  };
  const onVisibility = () => {
    if (!document.hidden) return open();
    close();
    update({ connection: 'paused' });
  };
  update({ problem: undefined });
  open();
  document.addEventListener('visibilitychange', onVisibility);
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    close();
  };
}

/** A page's data from the server: the newest `page` event, undefined before the first. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- what a page is told is what its name promises
export function usePage<T>(query: string): T | undefined {
  const [state, setState] = useState<{ readonly query: string; readonly page: T } | undefined>();
  useEffect(() => {
    // Several events within a frame are drawn once.
    let frame = 0;
    let newest = '';
    const stop = listenTo(query, {
      page: (data) => {
        newest = data;
        frame ||= requestAnimationFrame(() => {
          frame = 0;
          setState({ query, page: JSON.parse(newest) as T });
        });
      },
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [query]);
  return state?.query === query ? state.page : undefined;
}

function update(change: Partial<Hub>): void {
  Object.assign(hub, change);
  for (const listener of listeners) listener();
}
