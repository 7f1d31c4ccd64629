import type Docker from 'dockerode';
import { BerthError } from '#libs/domain/errors';
import { containerName, type EngineHost, isOfCell, LABELS } from './container-options';
import type { DockerConfig } from './docker-options';
import type { Engine, EngineContainer } from './engine';
import { engineError, isGone, isUnchanged } from './engine-error';

/** A container as listed by the engine. */
export type Listed = Pick<Docker.ContainerInfo, 'Id' | 'Names' | 'Labels' | 'State'>;

/** Repository of the images committed from replaced containers. */
const KEPT = 'berth-kept';
/** Suffix of a container during its replacement by one of the same name. */
const REPLACED = '.replaced';

/** The containers of a host's instances on its engine. Methods throw the errors of `engineError`. */
export class Containers {
  constructor(
    private readonly docker: Engine,
    private readonly host: EngineHost,
    private readonly config: Pick<DockerConfig, 'dockerPull' | 'dockerStopMs'>,
  ) {}

  /** All of them, running or not. */
  async list(): Promise<readonly Listed[]> {
    const label = [`${LABELS.host}=${this.host.name}`];
    const found = await orEngineError(this.docker.listContainers({ all: true, filters: { label } }));
    return found.filter(({ Labels }) => isOfCell(Labels, this.host.cell));
  }

  /** Undefined without one. */
  async inspect(uuid: string): Promise<Docker.ContainerInspectInfo | undefined> {
    return orEngineError(orGone(this.#container(uuid).inspect()));
  }

  /** Pulls a missing image, if that is allowed. */
  async create(options: Docker.ContainerCreateOptions, signal: AbortSignal): Promise<void> {
    const create = () => this.docker.createContainer(options, signal);
    try {
      await create();
    } catch (thrown) {
      if (!isGone(thrown)) throw engineError(thrown);
      if (this.config.dockerPull === 'never') throw noSuchImage(thrown);
      await this.docker.pull(options.Image ?? '').catch((error: unknown) => {
        throw isGone(error) ? noSuchImage(error) : engineError(error);
      });
      await orEngineError(create());
    }
  }

  /** @throws BerthError also `failed_precondition / not_startable` without a container. */
  async start(uuid: string, signal: AbortSignal): Promise<void> {
    await this.#container(uuid)
      .start(signal)
      .catch((thrown: unknown) => {
        if (isGone(thrown)) throw notStartable(uuid);
        if (!isUnchanged(thrown)) throw engineError(thrown);
      });
  }

  async stop(uuid: string): Promise<void> {
    const seconds = Math.ceil(this.config.dockerStopMs / 1_000);
    await orEngineError(orGone(this.#container(uuid).stop(seconds).catch(unlessUnchanged)));
  }

  async update(uuid: string, limits: Docker.HostConfig): Promise<void> {
    await orEngineError(this.#container(uuid).update(limits));
  }

  /**
   * Replaces a container by another with its content. Whenever this is interrupted, one of them exists; `settle`
   * restores its name. Volumes are kept.
   */
  async replace(uuid: string, options: Docker.ContainerCreateOptions): Promise<void> {
    const { Cmd: _sameCommand, ...rest } = options;
    const before = this.#container(uuid);
    await this.stop(uuid);
    await orEngineError(before.commit({ repo: KEPT, tag: uuid }));
    await orEngineError(before.rename(this.#replacedName(uuid)));
    const HostConfig = { ...options.HostConfig, VolumesFrom: [this.#replacedName(uuid)] };
    try {
      await orEngineError(this.docker.createContainer({ ...rest, Image: `${KEPT}:${uuid}`, HostConfig }));
    } catch (thrown) {
      await orEngineError(this.docker.getContainer(this.#replacedName(uuid)).rename(containerName(this.host, uuid)));
      throw thrown;
    }
    await this.#removeReplaced(uuid);
  }

  /**
   * Completes the replacements of a dead run: if both containers exist, the later one has everything. Renames an
   * earlier release's containers to the names of their cell.
   */
  async settle(found: readonly Listed[]): Promise<void> {
    const named = found.flatMap(({ Names, Labels }) =>
      Names.map((name) => [name.replace(/^\//, ''), Labels[LABELS.instance] ?? ''] as const),
    );
    const names = new Set<string>();
    for (const [name, uuid] of named) {
      const own = containerName(this.host, uuid) + (name.endsWith(REPLACED) ? REPLACED : '');
      if (name !== own) await orEngineError(this.docker.getContainer(name).rename(own));
      names.add(own);
    }
    for (const name of names) {
      if (!name.endsWith(REPLACED)) continue;
      const own = name.slice(0, -REPLACED.length);
      const container = this.docker.getContainer(name);
      if (names.has(own)) await orEngineError(container.remove());
      else await orEngineError(container.rename(own));
    }
  }

  /** Removes an instance completely, with its kept images and volumes. */
  async remove(uuid: string): Promise<void> {
    await this.#removeReplaced(uuid);
    await orEngineError(orGone(this.#container(uuid).remove({ volumes: true })));
    await orEngineError(orGone(this.docker.removeImage(`${KEPT}:${uuid}`)));
  }

  async #removeReplaced(uuid: string): Promise<void> {
    await orEngineError(orGone(this.docker.getContainer(this.#replacedName(uuid)).remove()));
  }

  #container(uuid: string): EngineContainer {
    return this.docker.getContainer(containerName(this.host, uuid));
  }

  #replacedName(uuid: string): string {
    return `${containerName(this.host, uuid)}${REPLACED}`;
  }
}

function orEngineError<T>(work: Promise<T>): Promise<T> {
  return work.catch((thrown: unknown) => {
    throw engineError(thrown);
  });
}

function orGone<T>(work: Promise<T>): Promise<T | undefined> {
  return work.catch((thrown: unknown) => {
    if (isGone(thrown)) return undefined;
    throw thrown;
  });
}

function unlessUnchanged(thrown: unknown): void {
  if (!isUnchanged(thrown)) throw thrown;
}

function noSuchImage(cause: unknown): BerthError {
  const { message } = engineError(cause);
  return new BerthError('not_found', 'no_such_image', message, { cause });
}

/** Nothing of the instance exists that could be started. */
export function notStartable(uuid: string): BerthError {
  return new BerthError('failed_precondition', 'not_startable', `the engine has no container of instance ${uuid}`);
}
