import { readConfig } from '../runtime/config';
import { processOptions } from '../runtime/options';
import { runService } from '../runtime/run-service';
import { environment } from '../runtime/system';

/* A service that opens two things and says what is closed when; its argument makes it misbehave. */
const [misbehaviour] = process.argv.slice(2);

function thing(name: string) {
  return {
    close: async () => {
      process.stdout.write(`closed ${name}\n`);
      if (misbehaviour === 'hangs' && name === 'bus') await new Promise(() => {});
    },
  };
}

void runService('stepped', readConfig(processOptions, environment()), async ({ open, clock }) => {
  await open('store', thing('store'));
  await open('bus', thing('bus'));
  if (misbehaviour === 'fails') throw new Error('the broker is not there');
  if (misbehaviour === 'rejects') clock.after(50, () => void Promise.reject(new Error('nobody handles this')));
  return { readiness: () => ({ ready: false, reason: 'mirror is behind' }), close: thing('service').close };
});
