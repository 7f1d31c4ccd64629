import { checkEncoded } from './body-bounds';

const refusal = (text: string, maxBodyValues = 4) => {
  try {
    checkEncoded(Buffer.from(text), { maxBodyValues, maxBodyDepth: 2 });
    return undefined;
  } catch (thrown) {
    return thrown;
  }
};
const TOO_MANY = { status: 413, code: 'berth.too_many' };

it.each(['[1,2,3,4]', '{"a":1,"b":[2,3],"c":{}}', '["1,2,3,4,5",","]', String.raw`["\",,,,,", "\\", 3]`, ''])(
  'lets %s through, which has four values at most',
  (text) => {
    expect(refusal(text)).toBeUndefined();
  },
);

it.each(['[1,2,3,4,5]', '{"a":1,"a":1,"a":1,"a":1,"a":1}', String.raw`["\\",2,3,4,5]`, '[[1,2],[3],{"a":4,"b":5},6]'])(
  'refuses %s, which has more, before it is parsed',
  (text) => {
    expect(refusal(text)).toMatchObject(TOO_MANY);
    // The rest of it need not be JSON.
    expect(refusal(`${text.slice(0, -1)} no JSON`)).toMatchObject(TOO_MANY);
  },
);

it.each(['[[[', '{"a":[{}]}', '[[[]],[[]]]', '["[[[["]', '[[]]]]'])('lets %s through, which is not deep', (text) => {
  expect(refusal(text)).toBeUndefined();
});

it.each(['['.repeat(2_000_000), '[[[[]]]]', '{"a":{"b":{"c":{', String.raw`[{"\"]":["]",[`])(
  'refuses what is deep before it is parsed (%#)',
  (text) => {
    expect(refusal(text)).toMatchObject(TOO_MANY);
  },
);
