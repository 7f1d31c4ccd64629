import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What npm brings where the Node that is installed is older than any that Berth is for. */
const NODE = '24.21.0';
const NPX = ['--yes', `--package=node@${NODE}`, '--', 'node'];

/**
 * Runs this program on a Node that is maintained, with what it was started with, and answers its exit code. Undefined when it runs on
 * such a Node already, or when npm can not bring one: then it says so, and goes on with what is there.
 */
export async function onMaintainedNode(say: (text: string) => void): Promise<number | undefined> {
  const { version, argv } = process;
  const { engines } = JSON.parse(readFileSync(require.resolve('#package.json'), 'utf8')) as {
    engines: { node: string };
  };
  if (majorOf(version) >= majorOf(engines.node)) return undefined;
  if (spawnSync('npx', [...NPX, '--version']).status !== 0) {
    say(`Berth is for Node ${engines.node}, and npm can not bring Node ${NODE}: the tests run on ${version}`);
    return undefined;
  }
  say(`Berth is for Node ${engines.node}, this is ${version}: the tests run on Node ${NODE}, which npm has brought`);
  const child = spawn('npx', [...NPX, ...argv.slice(1)], { stdio: 'inherit' });
  return new Promise((resolve) => {
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

function majorOf(version: string): number {
  return Number(/\d+/.exec(version)?.[0]);
}
