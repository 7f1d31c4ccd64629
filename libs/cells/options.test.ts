import { readCells } from './options';

it('reads cells on the own broker and on others', () => {
  expect(readCells('cell1, b=amqp://u:p=w@host/v', 'amqp://own')).toEqual([
    { cell: 'cell1', busUrl: 'amqp://own' },
    { cell: 'b', busUrl: 'amqp://u:p=w@host/v' },
  ]);
});

it.each(['', 'a.b', 'top', 'a,a', '=amqp://x'])('refuses %p', (text) => {
  expect(() => readCells(text, 'memory:')).toThrow(expect.objectContaining({ reason: 'bad_config' }));
});
