import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Session } from '../../api/session';

export const SessionContext = createContext<Session | undefined>(undefined);

/** True when the user may act. */
export function useMayAct(): boolean {
  return useContext(SessionContext)?.mayAct ?? false;
}
