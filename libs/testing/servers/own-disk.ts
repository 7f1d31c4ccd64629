import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { BerthError } from '../../domain/errors';
import { environment } from '../../runtime/system';
import { findBinary } from './find-binary';
import type { TestServer } from './server-process';

/**
 * A private disk of a server, mounted where no other process sees it and removed when the server is stopped.
 *
 * - `small`: in memory; can be filled. The server is restarted whenever it ends, as by a supervisor.
 * - `journaled`: ext4; its machine can lose power. Needs root and a loop device.
 */
export interface OwnDisk {
  readonly kind: 'small' | 'journaled';
  readonly sizeMb: number;
}

/** The mount point of the disk in a server's folder. */
export function mountPoint(folder: string): string {
  return join(folder, 'disk');
}

/** The disk of a server, as this process sees it. */
export function diskOf({ pid, folder }: TestServer): string {
  return `/proc/${pid}/root${mountPoint(folder)}`;
}

/** Mounts a disk of this many megabytes, and runs a command again and again: size, mount point, command. */
const ON_SMALL_DISK =
  'mount -t tmpfs -o "size=$1m" disk-of-a-test "$2" && cd "$2" && shift 2 && while :; do "$@"; sleep 0.2; done';
/** Mounts a disk image once nobody else has it mounted, and execs a command: file, mount point, command. */
const ON_JOURNALED_DISK =
  'for n in $(seq 100); do mount -o loop "$1" "$2" && break; sleep 0.1; done; cd "$2" && shift 2 && exec "$@"';

/**
 * The command that runs another one with a private disk at `mountPoint(folder)`.
 *
 * @throws BerthError `failed_precondition / no_disk`, with the remedy.
 */
export function onOwnDisk(disk: OwnDisk, folder: string, command: readonly string[]): readonly [string, string[]] {
  mkdirSync(mountPoint(folder));
  if (disk.kind === 'small') {
    const shell = ['/bin/sh', '-c', ON_SMALL_DISK, 'sh', String(disk.sizeMb)];
    return ['unshare', ['--map-root-user', '--mount', ...shell, mountPoint(folder), ...command]];
  }
  const file = join(folder, 'disk.ext4');
  closeSync(openSync(file, 'w'));
  execFileSync('truncate', ['--size', `${disk.sizeMb}M`, file]);
  execFileSync(findBinary({ name: 'mkfs.ext4', folders: ['/usr/sbin'], debianPackage: 'e2fsprogs' }), ['-q', file]);
  const shell = ['--mount', '/bin/sh', '-c'];
  const probe = ['mount -o loop "$1" "$2"', 'sh', file, mountPoint(folder)];
  const { status, stderr } = spawnSync('unshare', [...shell, ...probe], { encoding: 'utf8', env: environment() });
  if (status !== 0) {
    const message = `no ext4 can be mounted, which needs root and a loop device: ${stderr.trim()}. BERTH_TEST_POWER_LOSS=off leaves its tests out`;
    throw new BerthError('failed_precondition', 'no_disk', message);
  }
  return ['unshare', [...shell, ON_JOURNALED_DISK, 'sh', file, mountPoint(folder), ...command]];
}

/**
 * Ends a server with a journaled disk like a power loss of its machine: unsynced writes are gone. The file system is
 * shut down without flushing its log (FS_IOC_SHUTDOWN, as in file systems' own tests), and then the server is killed.
 */
export async function losePower(server: TestServer): Promise<void> {
  const perl = findBinary({ name: 'perl', folders: ['/usr/bin'], debianPackage: 'perl-base' });
  const shutDown =
    'my $flags = pack("L", 2); open my $disk, "<", $ARGV[0] or die $!; ioctl $disk, 0x8004587d, $flags or die $!';
  execFileSync(perl, ['-e', shutDown, diskOf(server)]);
  await server.kill('SIGKILL');
}
