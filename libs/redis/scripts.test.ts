import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { loadScripts } from './scripts';

const LIBS = join(__dirname, '..');
const folders = readdirSync(LIBS)
  .map((lib) => join(lib, 'redis', 'lua'))
  .filter((folder) => existsSync(join(LIBS, folder)));
const scripts = folders.flatMap((folder) => scriptNames(join(LIBS, folder)).map((name) => [folder, name] as const));

it.each(scripts)('%s/%s.lua has a header that agrees with its keys, arguments and returns', (folder, name) => {
  const text = readFileSync(join(LIBS, folder, `${name}.lua`), 'utf8');
  const script = loadScripts(join(LIBS, folder), [name])[name];
  expect(headerProblems(text, script?.source)).toEqual([]);
  expect(script?.keyCount).toBeGreaterThan(0);
});

const HEADER = `--- Adds.
--- KEYS[1] counter  a number
--- ARGV[1] amount   how much
--- @return the sum
`;
const BODY = `return redis.call('INCRBY', KEYS[1], ARGV[1])`;

it('accepts a complete header', () => {
  expect(headerProblems(HEADER + BODY)).toEqual([]);
});

it.each([
  ['a key that is not documented', `${HEADER}redis.call('DEL', KEYS[2]) ${BODY}`, 'KEYS[2] is not documented'],
  ['an argument that is not documented', `${HEADER}local x = ARGV[2] ${BODY}`, 'ARGV[2] is not documented'],
  ['a key that is not used', `--- KEYS[2] more\n${HEADER}${BODY}`, 'KEYS[2] is not used'],
  [
    'an argument that is not used',
    HEADER.replace('@return', 'ARGV[2] more\n--- @return') + BODY,
    'ARGV[2] is not used',
  ],
  ['no returns', HEADER.replace('@return', 'returns') + BODY, 'the header does not say what it returns'],
  ['no purpose', BODY, 'the first line must say what it does'],
])('finds %s', (_, text, problem) => {
  expect(headerProblems(text)).toContain(problem);
});

/**
 * Mismatches between a script's header and its body: keys or arguments used but not documented, documented but not
 * used, numbered with gaps, or a missing return value. `ARGV[n..]` documents the rest of the arguments.
 */
function headerProblems(text: string, source = text): string[] {
  const problems: string[] = [];
  if (!/^--- [A-Z]/.test(text)) problems.push('the first line must say what it does');
  if (!/^--- @return \S/m.test(text)) problems.push('the header does not say what it returns');
  const body = source.replaceAll(/^\s*--.*$/gm, '');
  const [keys, args] = (['KEYS', 'ARGV'] as const).map((array) => {
    const inHeader = documented(text, array);
    const inBody = [...new Set([...body.matchAll(new RegExp(`${array}\\[(\\d+)\\]`, 'g'))].map((m) => Number(m[1])))];
    if (inHeader.some((n, i) => n !== i + 1)) problems.push(`${array} are not documented from 1 without gaps`);
    for (const n of inBody) if (!inHeader.includes(n)) problems.push(`${array}[${n}] is not documented`);
    return { inHeader, inBody };
  });
  // A body that finds a key by a variable may use each of them.
  const isByVariable = /KEYS\[[a-z]/.test(body);
  for (const n of keys?.inHeader ?? []) {
    if (!isByVariable && !keys?.inBody.includes(n)) problems.push(`KEYS[${n}] is not used`);
  }
  const rest = /^--- ARGV\[(\d+)\.\.\]/m.exec(text);
  for (const n of args?.inHeader ?? []) {
    if (!args?.inBody.includes(n) && Number(rest?.[1]) !== n) problems.push(`ARGV[${n}] is not used`);
  }
  return problems;
}

function documented(text: string, array: 'KEYS' | 'ARGV'): number[] {
  return [...text.matchAll(new RegExp(`^--- ${array}\\[(\\d+)(?:\\.\\.)?\\] +\\S`, 'gm'))].map((m) => Number(m[1]));
}

/** Names of all scripts in a folder. */
function scriptNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.lua'))
    .map((file) => basename(file, '.lua'));
}
