import type { InstancePage } from '../../api/instance';
import { useChoices } from '../state/choices';
import { ActionButton, type Field } from '../ui/action';

interface ConsoleAction {
  readonly label: string;
  /** The consequence, after the name of the instance: `will stop`. */
  readonly will: string;
  readonly note: string;
  /** The change under way, after the name. */
  readonly does: string;
  readonly isDanger?: boolean;
}

const ACTIONS: Readonly<Record<string, ConsoleAction>> = {
  stop: { label: 'Stop', will: 'will stop', note: 'It keeps its host and its resources.', does: 'is stopping' },
  start: { label: 'Start', will: 'will start', note: 'It starts on its present host.', does: 'is starting' },
  live_migrate: {
    label: 'Live-migrate',
    will: 'will move to another host while it runs',
    note: 'Without a target host the scheduler chooses one.',
    does: 'is moving',
  },
  migrate: {
    label: 'Migrate',
    will: 'will stop, move to another host and start there',
    note: 'After the move you confirm or revert it.',
    does: 'is moving',
  },
  resize: {
    label: 'Resize',
    will: 'will change its flavor',
    note: 'It may move to another host. You then confirm or revert the resize.',
    does: 'is changing its flavor',
  },
  confirm: {
    label: 'Confirm',
    will: 'will stay on its new host',
    note: 'Its former host frees what it kept for it.',
    does: 'stays on its new host',
  },
  revert: {
    label: 'Revert',
    will: 'will return to its former host',
    note: 'It also returns to its former flavor.',
    does: 'is returning',
  },
  shelve: {
    label: 'Shelve',
    will: 'will stop and give up its host',
    note: 'Unshelving chooses a host again.',
    does: 'is shelving',
  },
  unshelve: {
    label: 'Unshelve',
    will: 'will start on a host that the scheduler chooses',
    note: 'If no host has capacity it stays shelved.',
    does: 'is unshelving',
  },
  evacuate: {
    label: 'Evacuate',
    will: 'will be built again on another host',
    note: 'Evacuate an instance only when its host is dead.',
    does: 'is moving off its dead host',
  },
  terminate: {
    label: 'Terminate',
    will: 'will be permanently deleted',
    note: 'You cannot undo this.',
    does: 'is being deleted',
    isDanger: true,
  },
};

/** The actions that an instance allows now. */
export function InstanceActions({ page: { uuid, name, host, actions } }: { page: InstancePage }) {
  const flavors = (useChoices()?.flavors ?? []).map((flavor) => flavor.name);
  const fieldsOf = (action: string): readonly Field[] => {
    if (action === 'resize') return [{ name: 'flavor', label: 'Flavor', isRequired: true, choices: flavors }];
    return action.endsWith('migrate') ? [{ name: 'targetHost', label: 'Target host (empty: any)' }] : [];
  };
  return (
    <div class="actions">
      {actions.map((action) => {
        const about = ACTIONS[action];
        if (about === undefined || (action === 'resize' && flavors.length === 0)) return null;
        return (
          <ActionButton
            key={action}
            label={about.label}
            question={`${name} ${about.will}.`}
            note={host === '' ? about.note : `It is on ${host}. ${about.note}`}
            done={`${name} ${about.does}.`}
            isDanger={about.isDanger ?? false}
            path={`/api/instances/${uuid}/actions`}
            body={{ action }}
            fields={fieldsOf(action)}
          />
        );
      })}
    </div>
  );
}
