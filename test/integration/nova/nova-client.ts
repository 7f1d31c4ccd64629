import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findPython } from '#libs/testing/servers/find-binary';

/** A process of Nova's own client. */
export interface NovaClient {
  /** Runs steps of `nova_client.py`, one after the other; resolves to the output of each. */
  run(steps: readonly string[]): Promise<Record<string, unknown>[]>;
  stop(): void;
}

export function startNovaClient(transportUrl: string): NovaClient {
  const python = findPython({ nova: 'python3-nova', oslo_messaging: 'python3-oslo.messaging' });
  const child = spawn(python, [join(__dirname, 'nova_client.py'), transportUrl], { stdio: 'pipe' });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  child.stdin.on('error', () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async run(steps) {
      child.stdin.write(steps.map((step) => `${step}\n`).join(''));
      const outputs: Record<string, unknown>[] = [];
      while (outputs.length < steps.length) {
        const { value, done } = await lines.next();
        if (done === true) throw new Error(`Nova's client ended: ${stderr}`);
        outputs.push(JSON.parse(value) as Record<string, unknown>);
      }
      return outputs;
    },
    stop: () => void child.kill('SIGKILL'),
  };
}
