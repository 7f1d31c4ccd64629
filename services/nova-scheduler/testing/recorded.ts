import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OsloRequest } from '#libs/oslo/envelope';

type Recorded = Pick<OsloRequest, 'method' | 'version' | 'context' | 'args'>;

/**
 * Calls as Nova 26 sends them: the first were recorded from a whole Nova while it booted, moved, evacuated and unshelved; the others
 * were made by its own objects.
 */
export function recordedCalls(): Readonly<Record<string, Recorded>> {
  return JSON.parse(readFileSync(join(__dirname, 'recorded-calls.json'), 'utf8')) as Record<string, Recorded>;
}

/** One of them, as its server reads it. */
export function recordedCall(name: string): OsloRequest {
  const call = recordedCalls()[name];
  if (call === undefined) throw new Error(`no call '${name}' was recorded`);
  return { ...call, namespace: undefined, uniqueId: undefined, replyTo: undefined };
}
