import { useEffect, useState } from 'preact/hooks';
import type { Choices } from '../../api/instances';
import { read } from './api';

/** Names that pickers offer; undefined until they are read, and when they can't be. */
export function useChoices(): Choices | undefined {
  const [choices, setChoices] = useState<Choices | undefined>();
  useEffect(() => {
    read<Choices>('/api/choices').then(setChoices, () => {});
  }, []);
  return choices;
}
