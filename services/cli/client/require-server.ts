import { usageError } from '../failure';

/** @throws BerthError `invalid_argument / usage` for `memory:`, which exists within one process only. */
export function requireServer(url: string, env: string, example: string): void {
  if (url !== 'memory:') return;
  const hint = `set ${env}=${example}; 'berth demo' needs no server`;
  throw usageError(`${env} is memory:, which lives within one process and cannot be shared with others`, hint);
}
