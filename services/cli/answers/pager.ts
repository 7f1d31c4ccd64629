import { spawn } from 'node:child_process';
import type { Environment } from '#libs/runtime/system';
import type { Terminal } from '../views/terminal';
import { harmless } from './harmless';

/** The shell's exit code for an unknown command. */
const NO_SUCH_COMMAND = 127;

/**
 * Prints an answer; on a terminal with fewer lines than it through a pager, like git: $PAGER, else `less` with LESS=FRX
 * unless LESS is set, which keeps colours and prints a short text directly. An empty PAGER and `cat` disable it, and so
 * does `--no-pager`.
 */
export async function showLong(terminal: Terminal, text: string, env: Environment): Promise<void> {
  const { screen } = terminal;
  const pager = (env['PAGER'] ?? 'less').trim();
  const isLong = screen !== undefined && text.split('\n').length >= screen.rows;
  if (isLong && pager !== '' && pager !== 'cat' && (await hasPaged(pager, text, env))) return;
  if (text !== '') terminal.print(text);
}

/** True when the pager has shown it; false when it could not be started. */
function hasPaged(pager: string, text: string, env: Environment): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn('sh', ['-c', pager], {
      stdio: ['pipe', 'inherit', 'ignore'],
      env: { LESS: 'FRX', LV: '-c', ...env },
    });
    child.on('error', () => resolve(false));
    child.on('close', (code) => resolve(code !== NO_SUCH_COMMAND));
    // The user left the pager before the end.
    child.stdin.on('error', () => {});
    child.stdin.end(`${harmless(text)}\n`);
  });
}
