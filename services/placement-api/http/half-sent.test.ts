import { once } from 'node:events';
import { connect } from 'node:net';
import { MemoryPlacementStore } from '#libs/placement/memory/placement-store';
import { CONNECTION_LIMITS } from '#libs/runtime/bound-connections';
import { answersOfMany } from '#libs/testing/answers-of-many';
import { openApi } from '../testing/api';

it('ends connections with half a request', async () => {
  const api = await openApi(new MemoryPlacementStore());
  const { port } = new URL(api.url);
  const sent = [
    'POST /traits HTTP/1.1\r\nhost: berth\r\nx-auth',
    'POST /reshaper HTTP/1.1\r\nhost: berth\r\nx-auth-token: admin\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{',
  ];
  const ends = sent.map(async (text) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.resume().write(text);
    return once(socket, 'close');
  });
  expect(await Promise.all(ends)).toEqual([[false], [false]]);
  await api.close();
}, 60_000);

it('ends a connection that asks for much at once, as a stranger may for the document of the API', async () => {
  const api = await openApi(new MemoryPlacementStore());
  expect(await answersOfMany(new URL(api.url), '/openapi.json')).toBeLessThanOrEqual(CONNECTION_LIMITS.requestsEach);
  await api.close();
});
