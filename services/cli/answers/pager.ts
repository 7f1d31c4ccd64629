import { spawn } from 'node:child_process';
import type { Environment } from '#libs/runtime/system';
import type { Terminal } from '../views/terminal';

/** What the shell says of a command that is not there. */
const NO_SUCH_COMMAND = 127;

/**
 * Prints an answer; on a terminal that has fewer lines than it, by a pager, as git does it: $PAGER, else `less`, which is told to
 * leave colours and a short text alone (LESS=FRX unless it is set). An empty PAGER and `cat` are none, and so is `--no-pager`.
 */
export async function showLong(terminal: Terminal, text: string, env: Environment): Promise<void> {
  const { screen } = terminal;
  const pager = (env['PAGER'] ?? 'less').trim();
  const isLong = screen !== undefined && text.split('\n').length >= screen.rows;
  if (isLong && pager !== '' && pager !== 'cat' && (await hasPaged(pager, text, env))) return;
  if (text !== '') terminal.print(text);
}

/** Whether the pager has shown it: not when it could not be started. */
function hasPaged(pager: string, text: string, env: Environment): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', pager], {
      stdio: ['pipe', 'inherit', 'ignore'],
      env: { LESS: 'FRX', LV: '-c', ...env },
    });
    child.on('error', () => resolve(false));
    child.on('close', (code) => resolve(code !== NO_SUCH_COMMAND));
    // Whoever leaves the pager has read enough.
    child.stdin.on('error', () => {});
    child.stdin.end(`${text}\n`);
  });
}
