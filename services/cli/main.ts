#!/usr/bin/env node
import { setMaxListeners } from 'node:events';
import { environment, systemClock, systemRandom } from '#libs/runtime/system';
import { runBerth } from './program';
import { createTerminal } from './views/terminal';

// Every call in flight listens to the signal that stops its service: many listeners are no sign of a leak.
setMaxListeners(0);

const env = environment();
const interrupting = new AbortController();
// Only the first Ctrl-C is caught, so a second one ends a command that hangs. Services add their own listeners.
process.once('SIGINT', () => interrupting.abort());
process.once('SIGTERM', () => interrupting.abort());
// A pipe that is closed early (`berth events | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

void runBerth(process.argv.slice(2), {
  env,
  terminal: createTerminal(process.stdout, process.stderr, env, process.stdin),
  clock: systemClock(),
  random: systemRandom,
  interrupted: interrupting.signal,
}).then((code) => {
  // Everything is closed; exit although a timer (an unused deadline) may still be set. Output to a pipe is buffered:
  // an empty write is done only after all writes before it.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
});
