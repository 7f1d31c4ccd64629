import type { Within } from '../server-group';

/** The rule in words: `within block, preferably rack`. */
export function withinInWords({ levels: names, required }: Within): string {
  const [bound, preferred] = [names.slice(0, required).join('/'), names.slice(required).join('/')];
  if (bound === '') return `preferably within ${preferred}`;
  return preferred === '' ? `within ${bound}` : `within ${bound}, preferably ${preferred}`;
}
