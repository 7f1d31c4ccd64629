import { useEffect, useState } from 'preact/hooks';

/** The browser's address: a path, and its query. */
export interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const listeners = new Set<() => void>();

/** Goes to another page of the console. */
export function go(url: string): void {
  history.pushState(null, '', url);
  for (const listener of listeners) listener();
  const part = location.hash === '' ? null : document.getElementById(location.hash.slice(1));
  if (part === null) scrollTo(0, 0);
  else part.scrollIntoView();
}

/** An address with a query; values that are undefined or '' are left out. */
export function link(path: string, values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined && value !== '') query.set(name, value);
  return urlOf(path, query);
}

function urlOf(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Changes parts of the query in place: undefined and '' remove a part. */
export function setQuery(change: Readonly<Record<string, string | undefined>>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  history.replaceState(null, '', urlOf(location.pathname, query));
  for (const listener of listeners) listener();
}

/** The browser's address, live. */
export function usePlace(): Place {
  const [place, setPlace] = useState(placeNow);
  useEffect(() => {
    const update = () => setPlace(placeNow());
    listeners.add(update);
    addEventListener('popstate', update);
    return () => {
      listeners.delete(update);
      removeEventListener('popstate', update);
    };
  }, []);
  return place;
}

/** Pages that are separate documents. */
const DOCUMENTS = '/docs/';

/** Makes plain clicks on links within the console change the page without a reload. */
export function followLinks(): void {
  document.addEventListener('click', (click) => {
    const target = (click.target as Element).closest('a');
    const isPlain = click.button === 0 && !click.ctrlKey && !click.metaKey && !click.shiftKey && !click.altKey;
    if (!target || !isPlain || target.target !== '' || target.origin !== location.origin) return;
    // A part of this page is the browser's to show.
    if (target.pathname.startsWith(DOCUMENTS) || target.getAttribute('href')?.startsWith('#')) return;
    click.preventDefault();
    go(target.pathname + target.search + target.hash);
  });
}

function placeNow(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}
