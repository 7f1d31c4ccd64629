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
  scrollTo(0, 0);
  for (const listener of listeners) listener();
}

/** Changes parts of the query in place: undefined and '' remove a part. */
export function setQuery(change: Readonly<Record<string, string | undefined>>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  history.replaceState(null, '', text === '' ? location.pathname : `${location.pathname}?${text}`);
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
    const link = (click.target as Element).closest('a');
    const isPlain = click.button === 0 && !click.ctrlKey && !click.metaKey && !click.shiftKey && !click.altKey;
    if (!link || !isPlain || link.target !== '' || link.origin !== location.origin) return;
    if (link.pathname.startsWith(DOCUMENTS)) return;
    click.preventDefault();
    go(link.pathname + link.search);
  });
}

function placeNow(): Place {
  return { path: location.pathname, query: new URLSearchParams(location.search) };
}
