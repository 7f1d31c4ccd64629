import { cellOf, inCell, queueInCell, withoutCell } from './cells';
import { identityOf, userOf } from './identity';
import { agentQueue, BUILD_REQUESTS } from './queues';

it('the first cell has the names that there were before cells, others their own', () => {
  expect(queueInCell('cell1', BUILD_REQUESTS)).toBe(BUILD_REQUESTS);
  expect(queueInCell('b', agentQueue('h1'))).toMatchObject({
    name: 'cell.b.agent.h1',
    entrance: { exchange: 'cell.b.berth.reports', pattern: 'agent.h1.*.h1' },
  });
});

it.each(['cell1', 'b', 'top', 'a-b_c'])('a name of cell %s tells its cell, and what it is called there', (cell) => {
  const name = inCell(cell, 'agent.cell.x');
  expect([cellOf(name), withoutCell(name)]).toEqual([cell, 'agent.cell.x']);
});

it.each([
  ['cell.b.agent.h1', 'b', { kind: 'agent', host: 'h1', carriesOthers: false }],
  ['cell.b.agent.h1', 'cell1', { kind: 'nobody' }],
  ['cell.b.agent.h1', 'c', { kind: 'nobody' }],
  ['agent.h1', 'b', { kind: 'nobody' }],
  ['cell.b.scheduler', 'b', { kind: 'service' }],
  ['cell.b.scheduler', 'cell1', { kind: 'nobody' }],
  ['scheduler', 'b', { kind: 'nobody' }],
  ['cell.top.conductor', 'b', { kind: 'service' }],
  ['cell.top.project.p', 'b', { kind: 'nobody' }],
  ['operator', 'b', { kind: 'service' }],
  ['guest', 'b', { kind: 'service' }],
])('the user %s speaks in cell %s for %j', (user, cell, identity) => {
  expect(identityOf(user, cell)).toEqual(identity);
});

it('the user of a host in a cell is the one that speaks for it there', () => {
  const identity = { kind: 'agent', host: 'h1', carriesOthers: true } as const;
  expect(identityOf(userOf(identity, 'b'), 'b')).toEqual(identity);
});
