import { PassThrough } from 'node:stream';
import { createTerminal } from './terminal';
import { wrapped } from './wrapped';

const SENTENCE = '0 of 30 hosts fit: 22 lack free VCPU (capacity_vcpu), 8 are disabled (host_disabled)';

const terminalOf = (columns?: number) =>
  createTerminal(Object.assign(new PassThrough(), columns && { isTTY: true, columns }), new PassThrough(), {});

it('breaks between words, so that no line is wider than the terminal, and indents each', () => {
  const lines = wrapped(terminalOf(50), SENTENCE, '  ').split('\n');
  expect(lines.length).toBe(2);
  for (const line of lines) expect(line).toMatch(/^ {2}\S.{0,47}$/);
  expect(lines.map((line) => line.trim()).join(' ')).toBe(SENTENCE);
});

it('leaves a sentence whole where nobody reads it on a terminal', () => {
  expect(wrapped(terminalOf(), SENTENCE, '  ')).toBe(`  ${SENTENCE}`);
});
