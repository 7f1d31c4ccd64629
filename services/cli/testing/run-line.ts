import { PassThrough } from 'node:stream';
import { type Environment, systemClock, systemRandom } from '#libs/runtime/system';
import { runBerth } from '../program';
import { createTerminal } from '../views/terminal';

/**
 * Runs `berth` in this process with a command line (as words if one contains a blank), in an otherwise empty
 * environment; `isTTY` for a terminal on standard error.
 */
export async function runLine(line: string | readonly string[], env: Environment = {}, isTTY = false) {
  const out = new PassThrough();
  const err = Object.assign(new PassThrough(), { isTTY });
  const code = await runBerth(typeof line === 'string' ? line.split(' ') : line, {
    env,
    terminal: createTerminal(out, err, env),
    clock: systemClock(),
    random: systemRandom,
    interrupted: new AbortController().signal,
  });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}
