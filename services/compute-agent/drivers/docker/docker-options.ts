import { type ConfigOf, durationOption, enumOption, listOption, stringOption } from '#libs/runtime/config';

/** Settings of the docker driver. */
export const dockerDriverOptions = {
  dockerSocket: stringOption({
    env: 'BERTH_AGENT_DOCKER_SOCKET',
    default: '/var/run/docker.sock',
    range: 'a path',
    help: 'The socket of the Docker engine that runs the instances.',
  }),
  dockerImage: stringOption({
    env: 'BERTH_AGENT_DOCKER_IMAGE',
    default: '',
    range: 'an image',
    help: 'The image of an instance whose request does not name one; needed by the docker driver.',
  }),
  dockerAllowed: listOption({
    env: 'BERTH_AGENT_DOCKER_ALLOWED',
    default: [],
    help: 'Images that a request may name in its extra spec berth:image. None unless listed.',
  }),
  dockerPull: enumOption({
    env: 'BERTH_AGENT_DOCKER_PULL',
    default: 'missing',
    values: ['missing', 'never'],
    help: 'Lets the engine pull missing images.',
  }),
  dockerNetwork: stringOption({
    env: 'BERTH_AGENT_DOCKER_NETWORK',
    default: 'bridge',
    range: 'a network',
    help: 'The network of the containers, as the engine names it: bridge, none, or one that was created.',
  }),
  dockerDevices: listOption({
    env: 'BERTH_AGENT_DOCKER_DEVICES',
    default: [],
    help: 'Device files by provider, as gpu0=/dev/nvidia0, for containers that claim from it.',
  }),
  dockerStartMs: durationOption({
    env: 'BERTH_AGENT_DOCKER_START_MS',
    default: 500,
    min: 0,
    max: 600_000,
    help: 'Time for which a new container is watched: one that ends within it has failed to build.',
  }),
  dockerStopMs: durationOption({
    env: 'BERTH_AGENT_DOCKER_STOP_MS',
    default: 5_000,
    min: 0,
    max: 600_000,
    help: 'The time between SIGTERM and SIGKILL when a container is stopped.',
  }),
} as const;

export type DockerConfig = ConfigOf<typeof dockerDriverOptions>;
