import { useEffect, useState } from 'preact/hooks';
import type { Choices } from '../../api/instances';
import { read } from './api';

/** What pickers offer; undefined until it is read, and when it can't be. */
export function useChoices(): Choices | undefined {
  const [choices, setChoices] = useState<Choices | undefined>();
  useEffect(() => {
    read<Choices>('/api/choices').then(setChoices, () => {});
  }, []);
  return choices;
}
