import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Session } from '../../api/session';

export const SessionContext = createContext<Session | undefined>(undefined);

/** Whether who is signed in may act, and not only see. */
export function useMayAct(): boolean {
  return useContext(SessionContext)?.mayAct ?? false;
}
