import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The version that npm brings where the installed Node is older than Berth supports. */
const NODE = '24.21.0';
const NPX = ['--yes', `--package=node@${NODE}`, '--', 'node'];

/**
 * Runs this program again on a maintained Node, with the same arguments, and resolves to its exit code. Undefined when it already runs on
 * one, or when npm can't bring one: then it says so, and goes on with the present Node.
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
