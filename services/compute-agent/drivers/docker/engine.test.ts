import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { engineAt } from './engine';

let folder: string;
let socket: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
const asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  answer(request, response);
});

beforeAll((done) => {
  folder = mkdtempSync(join(tmpdir(), 'berth-engine-'));
  socket = join(folder, 'docker.sock');
  server.listen(socket, done);
});
beforeEach(() => asked.splice(0));
afterAll((done) => {
  rmSync(folder, { recursive: true });
  server.close(done);
});

const answering = (status: number, body = '') => {
  answer = (_request, response) => response.writeHead(status).end(body);
};
const never = new AbortController().signal;

it.each([
  [404, { message: 'No such container: web' }, 'No such container: web'],
  [500, 'not JSON', 'not JSON'],
  [304, '', 'HTTP 304'],
])('throws what the engine says with status %i', async (statusCode, body, message) => {
  answering(statusCode, typeof body === 'string' ? body : JSON.stringify(body));
  await expect(engineAt(socket).getContainer('web').start(never)).rejects.toMatchObject({ statusCode, message });
});

it('has no status for an engine that is not there, or breaks off', async () => {
  const away = await engineAt(join(folder, 'gone.sock'))
    .info()
    .catch((error: unknown) => error);
  expect(away).toMatchObject({ code: 'ENOENT' });
  expect(away).not.toHaveProperty('statusCode');
  answer = (_request, response) => {
    response.writeHead(200, { 'content-length': 99 }).write('{');
    setImmediate(() => response.destroy());
  };
  await expect(engineAt(socket).info()).rejects.toMatchObject({ code: 'ECONNRESET' });
});

it.each([
  ['busybox', 'busybox', 'latest'],
  ['busybox:1', 'busybox', '1'],
  ['registry:5000/a/b', 'registry:5000/a/b', 'latest'],
  ['registry:5000/a/b:2', 'registry:5000/a/b', '2'],
  ['registry:5000/a:2@sha256:ab', 'registry:5000/a:2', 'sha256:ab'],
])('pulls one image for %s, never all of a name', async (image, fromImage, tag) => {
  answering(200, '{"status":"Pulling"}\r\n{"status":"Done"}\r\n');
  await engineAt(socket).pull(image);
  expect(asked).toEqual([`POST /images/create?${String(new URLSearchParams({ fromImage, tag }))}`]);
});

it('hears of a pull that fails after the engine has answered', async () => {
  answering(200, '{"status":"Pulling"}\r\n{"error":"no space left"}');
  await expect(engineAt(socket).pull('busybox')).rejects.toThrow('no space left');
});

it('sends the name and the settings of a container, and takes no name for a path', async () => {
  let body = '';
  answer = (request, response) => {
    void text(request).then((sent) => {
      body = sent;
      response.writeHead(201).end('{}');
    });
  };
  await engineAt(socket).createContainer({ name: 'web-1', Image: 'busybox' });
  expect(JSON.parse(body)).toEqual({ Image: 'busybox' });
  await engineAt(socket).getContainer('../images/a?b').remove({ volumes: true });
  expect(asked).toEqual([
    'POST /containers/create?name=web-1',
    'DELETE /containers/..%2Fimages%2Fa%3Fb?force=true&v=true',
  ]);
});

it('gives events line by line however they come in, until it is to end', async () => {
  const [first, second] = [Buffer.from('{"a":"é"}\n{"b"'), Buffer.from(':1}\n')];
  answer = (_request, response) => {
    response.write(first.subarray(0, 7));
    setImmediate(() => {
      response.write(first.subarray(7));
      setImmediate(() => response.write(second));
    });
  };
  const abort = new AbortController();
  const heard: string[] = [];
  const listening = async () => {
    for await (const line of await engineAt(socket).getEvents({ type: ['container'] }, abort.signal)) {
      heard.push(line);
      if (heard.length === 2) abort.abort();
    }
  };
  await expect(listening()).rejects.toHaveProperty('code', 'ECONNRESET');
  expect(heard).toEqual(['{"a":"é"}', '{"b":1}']);
  expect(asked).toEqual(['GET /events?filters=%7B%22type%22%3A%5B%22container%22%5D%7D']);
});
