import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BerthError } from '../../domain/errors';
import { environment } from '../../runtime/system';
import { findBinary } from './find-binary';
import { freePort, serverFolder, startServer, type TestServer } from './server-process';

/** A private Docker engine. */
export interface DockerEngine extends TestServer {
  readonly socket: string;
  /**
   * Makes an image with a shell and the usual Unix tools, from this machine's own busybox, with a volume /data, without
   * a registry.
   */
  makeImage(name: string): void;
}

/**
 * Starts a private Docker engine, with its containerd, whose containers have no network. Needs root, and a kernel that
 * permits cgroups.
 *
 * @throws BerthError `failed_precondition / no_engine`, with the cause and the remedy.
 */
export async function startDocker(): Promise<DockerEngine> {
  try {
    return await startEngine();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `no Docker engine could be started, which needs root, cgroups and Debian's docker.io and iptables: ${why}. BERTH_TEST_DOCKER=off leaves its tests out`;
    throw new BerthError('failed_precondition', 'no_engine', message, { cause });
  }
}

async function startEngine(): Promise<DockerEngine> {
  const command = findBinary({ name: 'dockerd', folders: ['/usr/sbin'], debianPackage: 'docker.io' });
  const port = await freePort();
  const folder = serverFolder('docker');
  const socket = join(folder, 'docker.sock');
  const folders = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')];
  const files = ['--pidfile', join(folder, 'docker.pid'), '--host', `unix://${socket}`];
  const quiet = ['--bridge', 'none', '--iptables=false', '--ip6tables=false', '--storage-driver', 'vfs'];
  // A port shows readiness; without TLS, and for this machine alone.
  const probed = ['--host', `tcp://127.0.0.1:${port}`, '--tls=false'];
  const probe = { send: 'GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n', expect: 'HTTP/1' };
  const args = [...folders, ...files, ...quiet, ...probed];
  const url = `unix://${socket}`;
  const server = await startServer({ name: 'Docker', url, port, folder, command, args, env: environment(), probe });
  const stop = server.stop.bind(server);
  return Object.assign(server, {
    socket,
    makeImage: (name: string) => importImage(url, name),
    async stop() {
      await server.kill('SIGTERM');
      // The engine mounts its folder onto itself, and leaves the mount at its end.
      spawnSync('umount', ['--lazy', join(folder, 'data')], { stdio: 'ignore' });
      await stop();
    },
  });
}

const SHELL_TOOLS = ['sh', 'sleep', 'cat', 'env', 'echo', 'nproc', 'head', 'true', 'false'];

function importImage(host: string, name: string): void {
  const docker = findBinary({ name: 'docker', folders: ['/usr/bin'], debianPackage: 'docker.io' });
  const busybox = findBinary({ name: 'busybox', folders: ['/bin'], debianPackage: 'busybox-static' });
  const root = mkdtempSync(join(tmpdir(), 'berth-image-'));
  try {
    mkdirSync(join(root, 'bin'));
    copyFileSync(busybox, join(root, 'bin/busybox'));
    chmodSync(join(root, 'bin/busybox'), 0o755);
    for (const tool of SHELL_TOOLS) symlinkSync('busybox', join(root, 'bin', tool));
    const archive = join(root, 'image.tar');
    execFileSync('tar', ['-C', root, '-c', '-f', archive, 'bin']);
    const change = ['--change', 'CMD ["/bin/sleep", "3600"]', '--change', 'VOLUME /data'];
    execFileSync(docker, ['--host', host, 'import', ...change, archive, name], { stdio: ['ignore', 'ignore', 'pipe'] });
  } finally {
    rmSync(root, { recursive: true });
  }
}
