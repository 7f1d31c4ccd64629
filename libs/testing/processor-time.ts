/** Processor time of this process since `since`, in ms. Tests bound it where a busy machine makes the clock's time say nothing. */
export function processorMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}
