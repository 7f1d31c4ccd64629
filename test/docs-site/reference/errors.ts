import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Call } from './calls';
import { code, table } from './markdown';

/** Every code of an error with what its caller should do, and the reasons that the sources name with it. */
export function errorsPage(root: string, calls: readonly Call[]): string {
  const source = readFileSync(join(root, 'libs/domain/errors.ts'), 'utf8');
  const codes = [...source.matchAll(/^ {2}\| '(\w+)';? \/\/ (.*)$/gm)];
  const rows = codes.map(([, name = '', meaning = '']) => [
    code(name),
    meaning,
    reasonsOf(name, calls).map(code).join(', '),
  ]);
  return `# Errors

An error has a code, of which there are these and no others, a reason that programs may compare, and a message for people: on the
[wire](../../../../proto/README.md#errors), in the console's answers and in logs. (The placement API answers with Placement's own codes.)
The reasons here are those that stand in the sources as they are; some are put together, such as ${code('capacity_<class>')}, and more are in
[filters](../../../scheduler/README.md#filters).

${table(['code', 'what its caller should know', 'reasons'], rows)}
`;
}

function reasonsOf(wanted: string, calls: readonly Call[]): string[] {
  const reasons = calls.flatMap(({ of, texts: [first, second] }) => {
    if (of === 'BerthError' && first === wanted) return [second];
    return of === 'invalidArgument' && wanted === 'invalid_argument' ? [first] : [];
  });
  return [...new Set(reasons.filter((reason) => reason !== undefined))].sort();
}
