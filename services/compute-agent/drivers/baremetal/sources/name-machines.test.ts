import { type FoundMachine, nameMachines } from './name-machines';
import type { KnownMachine } from './node-source';

const machine = (id: string, systemId = '', hostName = '') => ({ link: `/Systems/${id}`, id, systemId, hostName });
const marked = (id: string, hostName: string) => ({ ...machine(id, `u${id}`, hostName), mayBeKnown: true });
const named = (machines: readonly FoundMachine[], store: readonly KnownMachine[]) =>
  nameMachines(machines, store).map(({ name, doubt }) => (doubt === '' ? name : `${name}?`));
const known = (host: string, systemId: string, systemLink = '') => ({ host, systemId, systemLink });

it('calls a new machine by its id, whatever runs on it calls it', () => {
  expect(named([machine('1', 'u1', 'db'), machine('2', 'u2', 'db')], [])).toEqual(['1', '2']);
});

it('knows a machine again by its uuid, though it is called otherwise and stands elsewhere', () => {
  const store = [known('1', 'u1', '/Systems/1'), known('2', 'u2', '/Systems/2')];
  expect(named([machine('1', 'u2', 'x'), machine('2', 'u1', 'y')], store)).toEqual(['2', '1']);
});

it('leaves nodes of an older version their host names, and keeps them once they are known', () => {
  expect(named([machine('1', 'u1', 'db')], [known('db', '')])).toEqual(['db']);
  expect(named([machine('1', 'u1', 'evil')], [known('db', 'u1', '/Systems/1')])).toEqual(['db']);
});

it('gives no machine the name of another that it calls itself by', () => {
  const store = [known('db', 'u1', '/Systems/1')];
  expect(named([machine('1', 'u1'), machine('2', 'u2', 'db')], store)).toEqual(['db', '2']);
});

it('knows one that can not be read by where it stands, and another in its place under its name', () => {
  const store = [known('db', 'u1', '/Systems/1')];
  expect(named([machine('1')], store)).toEqual(['db']);
  expect(named([machine('1', 'u9')], store)).toEqual(['db']);
});

it('gives a new machine another name when its id is that of a machine that moved', () => {
  const store = [known('1', 'u1', '/Systems/1')];
  expect(named([machine('1', 'u9'), machine('2', 'u1')], store)).toEqual(['1-u9', '1']);
});

it.each<[string, FoundMachine[], string[]]>([
  ['one was renamed', [marked('1', 'evil'), marked('2', 'n2')], ['1?', 'n2']],
  ['one was renamed to the other', [marked('1', 'n2'), marked('2', 'n2')], ['1?', '2?']],
  ['one can not be read', [{ ...machine('1'), mayBeKnown: true }, marked('2', 'n2')], ['1?', 'n2']],
  ['one is new besides', [marked('1', '1'), marked('2', 'n2'), machine('3', 'u3', 'n2x')], ['1?', 'n2', '3']],
])('gives no managed machine a new name while a node of an older version is missing: %s', (_, machines, names) => {
  const store = [known('n1', ''), known('n2', '')];
  expect(named(machines, store)).toEqual(names);
  // A machine in doubt gets its old name again, and is its node once it shows that name.
  const doubted = [...store, { ...known('1', ''), state: 'enroll' as const }];
  expect(named(machines, doubted)).toEqual(names);
  expect(named([marked('1', 'n1'), marked('2', 'n2')], doubted)).toEqual(['n1', 'n2']);
});

it('says of a machine in doubt which nodes are missing, and what can be done', () => {
  const [first] = nameMachines([marked('1', 'evil')], [known('n1', '')]);
  expect(first?.doubt).toMatch(/Systems\/1 calls itself evil .* nodes n1, .* set its HostName/);
});

it('leaves nodes of an older version that show no host name their ids', () => {
  expect(named([marked('1', '1')], [known('1', '')])).toEqual(['1']);
});
