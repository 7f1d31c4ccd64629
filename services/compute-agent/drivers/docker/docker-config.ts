import type { ConfigOf } from '#libs/runtime/config';
import type { dockerDriverOptions } from './docker-options';

export type DockerConfig = ConfigOf<typeof dockerDriverOptions>;
