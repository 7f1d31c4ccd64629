#!/usr/bin/env node
import { setMaxListeners } from 'node:events';
import { environment, systemClock, systemRandom } from '#libs/runtime/system';
import { runBerth } from './program';
import { createTerminal } from './views/terminal';

// Every call in flight listens to its service's stop signal: many listeners are no leak.
setMaxListeners(0);

const env = environment();
const interrupting = new AbortController();
// Only the first Ctrl-C is caught, so a second one ends a hanging command. Services add their own listeners.
process.once('SIGINT', () => interrupting.abort());
process.once('SIGTERM', () => interrupting.abort());
// A parent with an IPC channel (`berth up`, a console) has died.
process.once('disconnect', () => interrupting.abort());
// A pipe that is closed early (`berth events | head`) is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

void runBerth(process.argv.slice(2), {
  env,
  terminal: createTerminal(process.stdout, process.stderr, env, process.stdin),
  clock: systemClock(),
  random: systemRandom,
  interrupted: interrupting.signal,
}).then((code) => {
  // Everything is closed; exit even if a timer (an unused deadline) is still set. Output to a pipe is buffered: an
  // empty write completes only after all earlier writes.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(code)));
});
