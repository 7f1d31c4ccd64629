import { booleanOption, durationOption, intOption, listOption, stringOption } from '#libs/runtime/config';

/** Settings of the process driver. */
export const processDriverOptions = {
  processCommand: stringOption({
    env: 'BERTH_AGENT_PROCESS_COMMAND',
    default: 'sleep infinity',
    range: 'words',
    help: 'Command of an instance whose request names none: words, split at spaces, without a shell.',
  }),
  processAllowed: listOption({
    env: 'BERTH_AGENT_PROCESS_ALLOWED',
    default: [],
    help: 'Programs, by absolute path, that a request may name in its extra spec berth:command (a JSON array of words). None unless listed; a listed shell or interpreter allows everything.',
  }),
  processUid: intOption({
    env: 'BERTH_AGENT_PROCESS_UID',
    default: -1,
    min: -1,
    max: 4_294_967_294,
    help: 'The user and group id that instances run as; needs an agent that runs as root. -1 is the user of the agent.',
  }),
  processDedicated: stringOption({
    env: 'BERTH_AGENT_PROCESS_DEDICATED',
    default: '',
    pattern: /^(\d+(-\d+)?(,\d+(-\d+)?)*)?$/,
    range: 'cores, as 2-7,10',
    help: "Cores that one instance at a time has for itself, as PCPU (Nova's cpu_dedicated_set); instances share all others, as VCPU.",
  }),
  processRealtime: booleanOption({
    env: 'BERTH_AGENT_PROCESS_REALTIME',
    default: false,
    help: 'Lets instances with cores of their own ask for real time (hw:cpu_realtime). Such a process can leave its cores and slow the machine down: only for requests that are trusted.',
  }),
  processStartMs: durationOption({
    env: 'BERTH_AGENT_PROCESS_START_MS',
    default: 200,
    min: 0,
    max: 600_000,
    help: 'Time for which a new instance is watched: one that ends within it has failed to build.',
  }),
  processStopMs: durationOption({
    env: 'BERTH_AGENT_PROCESS_STOP_MS',
    default: 5_000,
    min: 0,
    max: 600_000,
    help: 'The time between SIGTERM and SIGKILL when an instance is destroyed.',
  }),
  processPollMs: durationOption({
    env: 'BERTH_AGENT_PROCESS_POLL_MS',
    default: 500,
    min: 10,
    max: 60_000,
    help: 'Interval of checking that instances of an earlier run of the agent still run.',
  }),
  processExternal: stringOption({
    env: 'BERTH_AGENT_PROCESS_EXTERNAL',
    default: '',
    range: 'a regular expression',
    help: 'Processes whose command line matches count as external usage: 1 VCPU and their resident memory each.',
  }),
} as const;
