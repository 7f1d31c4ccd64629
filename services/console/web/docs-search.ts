/*
 * The search of the documentation, a script of its own: pages are complete without it. It reads `search.json`, which the
 * build writes beside it, when somebody begins to search.
 */

interface Entry {
  readonly address: string;
  readonly title: string;
  readonly heading: string;
  readonly words: string;
}

const MOST = 12;
const box = document.querySelector<HTMLFormElement>('form.docs-search');
const input = box?.querySelector('input');
const list = box?.querySelector('ul');
const message = box?.querySelector('[role=status]');
/** The root of the site, as this page reaches it. */
const root = new URL(box?.dataset['root'] ?? '.', location.href);
let reading: Promise<readonly Entry[]> | undefined;

if (box && input && list && message) {
  box.hidden = false;
  const search = async () => {
    const wanted = input.value.trim().toLowerCase();
    reading ??= fetch(new URL('search.json', root)).then((answer) => answer.json() as Promise<readonly Entry[]>);
    const entries = await reading.catch(() => {
      reading = undefined;
      return [];
    });
    // An answer to an earlier text.
    if (wanted !== input.value.trim().toLowerCase()) return;
    const found = wanted === '' ? [] : best(entries, wanted);
    list.replaceChildren(...found.map(itemOf));
    list.hidden = found.length === 0;
    message.textContent = wanted !== '' && found.length === 0 ? `No match for “${input.value.trim()}”` : '';
  };
  input.addEventListener('input', () => void search());
  box.addEventListener('submit', (submitted) => {
    submitted.preventDefault();
    list.querySelector('a')?.click();
  });
  box.addEventListener('keydown', (key) => {
    const links = [...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    if (key.key === 'ArrowDown') (links[at + 1] ?? links[0])?.focus();
    else if (key.key === 'ArrowUp') (at <= 0 ? input : links[at - 1])?.focus();
    else if (key.key === 'Escape') {
      input.value = '';
      void search();
      input.focus();
    } else return;
    key.preventDefault();
  });
  document.addEventListener('keydown', (key) => {
    const isTyping = document.activeElement instanceof HTMLInputElement;
    if ((key.key !== '/' || isTyping) && !(key.key === 'k' && (key.ctrlKey || key.metaKey))) return;
    key.preventDefault();
    input.focus();
  });
}

function itemOf({ address, title, heading }: Entry): HTMLLIElement {
  const link = document.createElement('a');
  link.href = new URL(address, root).href;
  const strong = document.createElement('strong');
  strong.textContent = heading;
  link.append(strong);
  if (heading !== title) link.append(` ${title}`);
  const item = document.createElement('li');
  item.append(link);
  return item;
}

/** The whole heading before its beginning, that before a part of it, and headings before what stands below them. */
function best(entries: readonly Entry[], wanted: string): Entry[] {
  const parts = wanted.split(/\s+/);
  const ranks: Entry[][] = [[], [], [], []];
  for (const entry of entries) {
    const heading = entry.heading.toLowerCase();
    const isIn = (text: string) => parts.every((part) => text.includes(part));
    const rank = heading === wanted ? 0 : heading.startsWith(wanted) ? 1 : isIn(heading) ? 2 : 3;
    if (rank < 3 || isIn(`${heading} ${entry.title.toLowerCase()} ${entry.words}`)) ranks[rank]?.push(entry);
  }
  return ranks.flat().slice(0, MOST);
}
