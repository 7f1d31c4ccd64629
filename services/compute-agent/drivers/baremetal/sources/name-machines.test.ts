import { nameMachines } from './name-machines';

const machine = (id: string, systemId = '', hostName = '') => ({ link: `/Systems/${id}`, id, systemId, hostName });
const known = (host: string, systemId: string, systemLink = '') => ({ host, systemId, systemLink });

it('calls a new machine by its id, whatever runs on it calls it', () => {
  expect(nameMachines([machine('1', 'u1', 'db'), machine('2', 'u2', 'db')], [])).toEqual(['1', '2']);
});

it('knows a machine again by its uuid, though it is called otherwise and stands elsewhere', () => {
  const store = [known('1', 'u1', '/Systems/1'), known('2', 'u2', '/Systems/2')];
  expect(nameMachines([machine('1', 'u2', 'x'), machine('2', 'u1', 'y')], store)).toEqual(['2', '1']);
});

it('leaves nodes of an older version their host names, and keeps them once they are known', () => {
  expect(nameMachines([machine('1', 'u1', 'db')], [known('db', '')])).toEqual(['db']);
  expect(nameMachines([machine('1', 'u1', 'evil')], [known('db', 'u1', '/Systems/1')])).toEqual(['db']);
});

it('gives no machine the name of another that it calls itself by', () => {
  const store = [known('db', 'u1', '/Systems/1')];
  expect(nameMachines([machine('1', 'u1'), machine('2', 'u2', 'db')], store)).toEqual(['db', '2']);
});

it('knows one that can not be read by where it stands, and another in its place under its name', () => {
  const store = [known('db', 'u1', '/Systems/1')];
  expect(nameMachines([machine('1')], store)).toEqual(['db']);
  expect(nameMachines([machine('1', 'u9')], store)).toEqual(['db']);
});

it('gives a new machine another name when its id is that of a machine that moved', () => {
  const store = [known('1', 'u1', '/Systems/1')];
  expect(nameMachines([machine('1', 'u9'), machine('2', 'u1')], store)).toEqual(['1-u9', '1']);
});
