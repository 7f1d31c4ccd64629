import { RemoteError } from '#libs/oslo/remote-error';

/** No host suits: Nova's `NoValidHost`, whose reason stands in the server's fault. */
export class NoHost extends RemoteError {
  constructor(readonly reason: string) {
    super('NoValidHost', 'nova.exception', `No valid host was found. ${reason}`, { reason, code: 500 });
  }
}
