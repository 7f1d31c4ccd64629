import type { Authenticate } from './principal';

/** A way of finding out who sends a request, in service. */
export interface Auth {
  readonly authenticate: Authenticate;
  /** Drops what is under way with the identity service; requests that wait for it are answered 503. */
  close(): Promise<void>;
}
