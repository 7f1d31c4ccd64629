import { Command } from '@commander-js/extra-typings';
import { NO_ADMISSION } from '#libs/domain/queueing/admission';
import { addAdmissionFlags, admissionOf } from './admission-flags';

function parse(line: string) {
  const command = addAdmissionFlags(new Command('build'))
    .exitOverride()
    .configureOutput({ writeErr() {} });
  command.parse(
    line.split(' ').filter((word) => word !== ''),
    { from: 'user' },
  );
  return admissionOf(command.opts());
}

it('says how a request waits, gives way and ends', () => {
  expect(parse('--wait-for-capacity 10m --priority -7 --preempt --protect --requeue --time-limit 1h')).toEqual({
    waitForCapacityMs: 600_000,
    priority: -7,
    mayPreempt: true,
    isProtected: true,
    isRequeued: true,
    timeLimitMs: 3_600_000,
  });
  expect(parse('--time-limit 90')?.timeLimitMs).toBe(90_000);
  expect(parse('--alternates reserved')).toEqual({ ...NO_ADMISSION, alternatesHeld: 'reserved' });
});

it('says nothing when nothing is asked', () => {
  expect(parse('')).toBeUndefined();
  expect(parse('--priority 0')).toBeUndefined();
});

it.each([
  ['--wait-for-capacity soon', '10m'],
  ['--wait-for-capacity 0m', '10m'],
  ['--priority 1001', '-1000 to 1000'],
  ['--priority 1.5', 'whole number'],
  ['--preempt', 'for what waits'],
  ['--requeue', 'for what waits'],
  ['--alternates kept', 'leased, reserved'],
])('refuses %s and says what it must be', (line, problem) => {
  expect(() => parse(line)).toThrow(problem);
});
