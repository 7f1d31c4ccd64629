import { Agenda } from './agenda';

it('gives each host once, at the earliest time that it was put down for', () => {
  const agenda = new Agenda();
  agenda.add('later', 5_000);
  agenda.add('sooner', 5_000);
  agenda.add('sooner', 1_000);
  agenda.add('sooner', 2_000);
  expect(agenda.takeDue(999)).toEqual([]);
  expect(agenda.takeDue(1_000)).toEqual(['sooner']);
  expect(agenda.takeDue(4_999)).toEqual([]);
  expect(agenda.takeDue(5_000)).toEqual(['later']);
});

it('takes a host that was given for a time that it had before', () => {
  const agenda = new Agenda();
  agenda.add('host', 2_000);
  agenda.add('host', 1_000);
  expect(agenda.takeDue(1_000)).toEqual(['host']);
  agenda.add('host', 2_000);
  expect(agenda.takeDue(2_000)).toEqual(['host']);
  expect(agenda.takeDue(9_000)).toEqual([]);
});
