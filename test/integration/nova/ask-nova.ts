import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { findPython } from '#libs/testing/servers/find-binary';

/** The answers of a script of this folder that runs Nova's own code, one for each case. */
export async function askNova(script: string, cases: readonly object[]): Promise<readonly unknown[]> {
  const python = findPython({ nova: 'python3-nova' });
  const child = spawn(python, [join(__dirname, script)], { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(cases.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const lines = out.trim().split('\n');
  if (lines.length !== cases.length) throw new Error(err);
  return lines.map((line) => JSON.parse(line) as unknown);
}
