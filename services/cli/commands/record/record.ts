import { Command, type CommandUnknownOpts } from '@commander-js/extra-typings';
import { counted } from '#libs/runtime/counted';
import { EXIT } from '#libs/runtime/exit-codes';
import { exportRecord, importRecord, verifyRecord } from '../../../replay/main';
import type { Context } from '../../context';
import { addHelp } from '../../help-text';
import { addSettingFlags } from '../../settings';
import { table } from '../../views/table';
import { RECORD_SETTINGS, recordFolderOf, time } from './record-flags';

/** `berth record verify | export | import`: what schedulers recorded of their decisions. */
export function recordCommand(context: Context): CommandUnknownOpts {
  return new Command('record')
    .addCommand(verifyCommand(context))
    .addCommand(exportCommand(context))
    .addCommand(importCommand(context));
}

function verifyCommand(context: Context): CommandUnknownOpts {
  const { terminal } = context;
  const command = new Command('verify')
    .description('Replay every recorded decision and compare the outcome.')
    .option('--json', 'print one JSON value', false);
  addSettingFlags(command, RECORD_SETTINGS).action(async ({ json }) => {
    const all = [];
    for await (const { segment, about, count, different } of verifyRecord(recordFolderOf(context, command))) {
      const { path, startedAtMs, bytes } = segment;
      const version = about?.version ?? null;
      all.push({ path, startedAtMs, bytes, version, decisions: count, different });
    }
    if (json) terminal.json(all);
    else {
      const rows = all.map(({ path, startedAtMs, version, decisions, different }) => {
        const began = new Date(startedAtMs).toISOString();
        return [path, began, version ?? 'not complete', decisions, different.length];
      });
      terminal.print(table(terminal, ['SEGMENT', 'BEGINS', 'VERSION', 'DECISIONS', 'DIFFERENT'], rows));
      for (const { entry, outcome } of all.flatMap((one) => one.different)) {
        terminal.print(`\nrequest ${entry.request.requestId}, revision ${entry.revision}:`);
        terminal.print(`  was ${JSON.stringify(entry.outcome)}\n  is  ${JSON.stringify(outcome)}`);
      }
    }
    if (all.some(({ different }) => different.length > 0)) context.exit(EXIT.failed);
  });
  return addHelp(
    command,
    [['berth record verify --record-folder /var/lib/berth/record', 'does this version decide as the one that ran']],
    [[EXIT.failed, 'a decision came out otherwise']],
  );
}

function exportCommand(context: Context): CommandUnknownOpts {
  const command = new Command('export')
    .description('Write the record of a period into one file, as evidence for a report.')
    .argument('<file>', 'the file to write, readable by its owner only')
    .option('--since <time>', 'from this time on, as 2026-11-28T12:00:00Z', time, 0)
    .option('--until <time>', 'up to this time', time, Number.POSITIVE_INFINITY)
    .option('--anonymize', 'replace the names and UUIDs of hosts, projects, users and instances', false);
  addSettingFlags(command, RECORD_SETTINGS).action(async (file, { since, until, anonymize }) => {
    const options = { sinceMs: since, untilMs: until, anonymize };
    const count = await exportRecord(recordFolderOf(context, command), file, options);
    context.terminal.print(`${counted(count, 'segment')} in ${file}`);
  });
  return addHelp(command, [
    ['berth record export today.gz --since 2026-11-28T12:00:00Z', 'what was decided since noon'],
    ['berth record export report.gz --anonymize', 'for others to look into'],
  ]);
}

function importCommand(context: Context): CommandUnknownOpts {
  const command = new Command('import')
    .description('Unpack an exported record into a folder, for berth explain --at and berth record verify.')
    .argument('<file>', 'the file, from someone you trust: it is read by the same Node functions that wrote it');
  addSettingFlags(command, RECORD_SETTINGS).action(async (file) => {
    const folder = recordFolderOf(context, command);
    context.terminal.print(`${counted(await importRecord(file, folder), 'segment')} in ${folder}`);
  });
  return addHelp(command, [
    ['berth record import report.gz --record-folder ./report', 'then berth explain --instance ... --at ...'],
  ]);
}
