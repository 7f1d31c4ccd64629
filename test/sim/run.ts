import { runCommand } from './command/command';

/** `npm run sim`: runs seeds or mutants; exits with 1 when an invariant broke, or a mutant broke none. */
function fail(thrown: unknown): never {
  process.stderr.write(`${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
  process.exit(2);
}

process.on('unhandledRejection', fail);
runCommand(process.argv.slice(2), (text) => process.stdout.write(`${text}\n`)).then(
  (exitCode) => process.exit(exitCode),
  fail,
);
