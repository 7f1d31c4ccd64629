import * as fc from 'fast-check';
import { harmless, harmlessJson } from './harmless';

it.each([
  ['clears the screen', '\u001b[2J', '␛[2J'],
  ['sets the title', '\u001b]0;mine\u0007', '␛]0;mine␇'],
  ['writes to the clipboard', '\u001b]52;c;cm0gLXJm\u001b\\', '␛]52;c;cm0gLXJm␛\\'],
  ['does so by one byte', '\u009b2J', '�2J'],
  ['goes back to the beginning of the line', 'failed\rACTIVE', 'failed␍ACTIVE'],
  ['takes back what it said', 'no\b\b', 'no␈␈'],
  ['turns the direction', 'evil\u202etxt', 'evil�txt'],
  ['hides what follows', '\u001b[8mhidden', '␛[8mhidden'],
])('shows what %s', (_what, sent, shown) => {
  expect(harmless(sent)).toBe(shown);
});

it.each(['a\nb\tc\r\n', '\u001b[31mred\u001b[39m', 'naïve 東京 😀'])('keeps %j', (text) => {
  expect(harmless(text)).toBe(text);
});

it('keeps the value of JSON, in which it leaves no control character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const json = harmlessJson(JSON.stringify({ [text]: `${text}\u009b2J\u202e` }));
      expect(JSON.parse(json)).toEqual({ [text]: `${text}\u009b2J\u202e` });
      expect(json).not.toMatch(/\p{Cc}|\u202e/u);
    }),
  );
});
