import { useEffect, useState } from 'preact/hooks';

type Theme = 'light' | 'dark';
const KEY = 'berth-theme';
const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();
// Once for all: users of the theme come and go with their pages.
dark.addEventListener('change', applyTheme);

/** The active theme: the one chosen here, else the system's. */
function themeNow(): Theme {
  const chosen = localStorage.getItem(KEY);
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return dark.matches ? 'dark' : 'light';
}

/** Chooses the other theme, until it equals the system's again. */
export function toggleTheme(): void {
  const next = themeNow() === 'dark' ? 'light' : 'dark';
  if ((next === 'dark') === dark.matches) localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  applyTheme();
}

export function applyTheme(): void {
  document.documentElement.dataset['theme'] = themeNow();
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  const [theme, setTheme] = useState(themeNow);
  useEffect(() => {
    const update = () => setTheme(themeNow());
    listeners.add(update);
    return () => void listeners.delete(update);
  }, []);
  return theme;
}
