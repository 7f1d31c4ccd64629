#!/usr/bin/env node

/** `engines` in package.json, which an old Node could not find by its import. */
const SUPPORTED_NODE = '22.12';
/** Node 20 still starts everything, though nothing is tested on it. Older ones lack functions that Berth calls, and can't require ES modules. */
const OLDEST_NODE = '20.19';

/*
 * The program that npm links. It imports nothing before it has checked its Node: an older one would stop at syntax or a
 * function that it does not know, with a stack instead of a reason.
 */
function isTooOld(present: string): boolean {
  const [major = 0, minor = 0] = present.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE.split('.').map(Number);
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}

if (isTooOld(process.versions.node)) {
  process.stderr.write(`berth: Berth needs Node ${SUPPORTED_NODE} or newer; this is Node ${process.versions.node}\n`);
  process.exitCode = 2;
} else {
  // oxlint-disable-next-line import/no-unassigned-import -- the program itself, of which an old Node must read nothing
  require('./main');
}
