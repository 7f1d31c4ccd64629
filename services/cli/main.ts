#!/usr/bin/env node
import { setMaxListeners } from 'node:events';
import { environment, systemClock, systemRandom } from '#libs/runtime/system';
import { runBerth } from './program';
import { createTerminal } from './terminal';

// Every call in flight listens to the one signal that stops its service: their number tells nothing about leaks.
setMaxListeners(0);

const env = environment();
const interrupting = new AbortController();
// The second Ctrl-C ends a command that does not; services listen for themselves.
process.once('SIGINT', () => interrupting.abort());
process.once('SIGTERM', () => interrupting.abort());
// A reader that has had enough (`berth events | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

void runBerth(process.argv.slice(2), {
  env,
  terminal: createTerminal(process.stdout, process.stderr, env),
  clock: systemClock(),
  random: systemRandom,
  interrupted: interrupting.signal,
}).then((code) => {
  // All is said and closed; a timer that is still set (a deadline that was not needed) must not keep anybody waiting.
  // A pipe may still hold what was printed: empty writes go last.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
});
