import { BerthError } from '../domain/errors';
import { readReply, readRequest, writeReply, writeRequest } from './envelope';
import { deserializeFailure, RemoteError, serializeFailure } from './remote-error';
import { SeenIds } from './seen-ids';
import { isCompatible } from './versions';

const REQUEST = {
  method: 'select_destinations',
  version: '4.5',
  namespace: undefined,
  args: { instance_uuids: ['a'] },
  context: { user_id: 'u', request_id: 'req-1' },
  uniqueId: 'once',
  replyTo: { queue: 'reply_1', messageId: 'm', monitorTimeoutS: 60 },
};

it('takes apart what it puts together', () => {
  expect(readRequest(writeRequest(REQUEST))).toEqual(REQUEST);
  const cast = { ...REQUEST, replyTo: undefined };
  expect(readRequest(writeRequest(cast))).toEqual(cast);
  const reply = { messageId: 'm', uniqueId: 'u', result: [[1]], failure: undefined, isLast: true };
  expect(readReply(writeReply(reply))).toEqual(reply);
});

it('reads the text that oslo.messaging sends', () => {
  const inner =
    '{"method": "m", "args": {}, "_context_user": null, "_unique_id": "u", "_msg_id": null, "_timeout": null}';
  const body = JSON.stringify({ 'oslo.version': '2.1', 'oslo.message': inner });
  expect(readRequest(Buffer.from(body))).toEqual({
    method: 'm',
    version: '1.0',
    namespace: undefined,
    args: {},
    context: { user: null },
    uniqueId: 'u',
    replyTo: undefined,
  });
});

it.each([
  ['no JSON', 'x'],
  ['a list', '[]'],
  ['another envelope', '{"oslo.version":"3.0","oslo.message":"{}"}'],
  ['no envelope', '{"method":"m","args":{}}'],
  ['no JSON inside', '{"oslo.version":"2.0","oslo.message":"{"}'],
  ['no method', '{"oslo.version":"2.0","oslo.message":"{}"}'],
  ['arguments that are a list', '{"oslo.version":"2.0","oslo.message":"{\\"method\\":\\"m\\",\\"args\\":[]}"}'],
  ['a queue for answers whose name is too long', enveloped({ _msg_id: 'a', _reply_q: 'x'.repeat(256) })],
  ['a call that names no queue for its answer', enveloped({ _msg_id: 'a' })],
  ['a queue for answers without a call', enveloped({ _reply_q: 'reply_1' })],
])('refuses %s', (_, text) => {
  expect(() => readRequest(Buffer.from(text))).toThrow(BerthError);
});

function enveloped(fields: object): string {
  return JSON.stringify({ 'oslo.version': '2.0', 'oslo.message': JSON.stringify({ method: 'm', ...fields }) });
}

it('carries an exception with its class, module and keywords', () => {
  const error = new RemoteError('NoValidHost', 'nova.exception', 'No valid host was found. x', { reason: 'x' });
  expect(deserializeFailure(serializeFailure(error))).toEqual(error);
  expect(JSON.parse(serializeFailure(error))).toMatchObject({
    args: ['No valid host was found. x'],
    tb: [],
  });
});

it('answers callers of the same major version that ask for no newer minor', () => {
  const answered = ['4.0', '4.5', '4.6', '3.0', '5.0', '4', 'x'].filter((asked) => isCompatible('4.5', asked));
  expect(answered).toEqual(['4.0', '4.5']);
});

it('knows an id that it saw, until many others came', () => {
  const seen = new SeenIds(2);
  expect(['a', 'a', 'b', 'c', 'a'].map((id) => seen.add(id))).toEqual([true, false, true, true, true]);
});
