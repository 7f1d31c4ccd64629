import { useEffect } from 'preact/hooks';

const PRODUCT = 'Berth';

/** Sets the title in the browser's tabs, history and bookmarks. */
export function useTitle(page: string): void {
  useEffect(() => {
    document.title = `${page} · ${PRODUCT}`;
    return () => {
      document.title = PRODUCT;
    };
  }, [page]);
}
