// Loaded into a process of a test: SIGUSR2 sets its wall clock an hour forward, SIGHUP an hour back; its monotonic clock goes on.
// It is CLOCK_AHEAD_MS ahead from the start.
const HOUR_MS = 3_600_000;
// oxlint-disable-next-line no-restricted-properties -- it is this that jumps
const now = Date.now;
// oxlint-disable-next-line no-restricted-properties -- loaded before any configuration
let jumpedMs = Number(process.env.CLOCK_AHEAD_MS ?? 0);
// oxlint-disable-next-line no-restricted-properties -- and here
Date.now = () => now() + jumpedMs;
process.on('SIGUSR2', () => (jumpedMs += HOUR_MS));
process.on('SIGHUP', () => (jumpedMs -= HOUR_MS));
