import { VERSION_RANGE } from '../http/microversion';
import type { Answer } from '../http/request';

/** GET /: the supported versions. Needs no token and no store, so that any client can identify the service. */
export function home(): Answer {
  const links = [{ rel: 'self', href: '' }];
  return {
    status: 200,
    body: { versions: [{ id: `v${VERSION_RANGE.min_version}`, ...VERSION_RANGE, status: 'CURRENT', links }] },
    lastModifiedMs: 'now',
  };
}
