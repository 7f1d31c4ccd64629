import { connect } from 'node:net';

const COUNT = 1_000;

/** Sends a thousand requests of a path at once; resolves to the number of answers when the server has closed the connection. */
export async function answersOfMany({ port, hostname }: URL, path: string): Promise<number> {
  const socket = connect(Number(port), hostname).on('error', () => {});
  let answers = 0;
  socket.on('data', (data: Buffer) => {
    answers += data.toString('latin1').split('HTTP/1.1 200').length - 1;
  });
  const get = (connection: string) => `GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nconnection: ${connection}\r\n\r\n`;
  socket.write(get('keep-alive').repeat(COUNT - 1) + get('close'));
  // A reset is an end, too.
  await new Promise((resolve) => socket.once('close', resolve));
  return answers;
}
