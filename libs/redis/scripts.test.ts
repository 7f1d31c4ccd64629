import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { headerProblems, loadScripts, scriptNames } from './scripts';

const LIBS = join(__dirname, '..');
const folders = readdirSync(LIBS)
  .map((lib) => join(lib, 'redis', 'lua'))
  .filter((folder) => existsSync(join(LIBS, folder)));
const scripts = folders.flatMap((folder) => scriptNames(join(LIBS, folder)).map((name) => [folder, name] as const));

it.each(scripts)('%s/%s.lua has a header that agrees with its keys, arguments and returns', (folder, name) => {
  expect(loadScripts(join(LIBS, folder), [name])[name]?.keyCount).toBeGreaterThan(0);
});

const HEADER = `--- Adds.
--- KEYS[1] counter  a number
--- ARGV[1] amount   how much
--- @return the sum
`;
const BODY = `return redis.call('INCRBY', KEYS[1], ARGV[1])`;

it('takes a header that says all', () => {
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
