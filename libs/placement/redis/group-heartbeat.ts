import type { RedisClient } from '../../redis/connect';
import { perTurn, upTo } from '../../redis/per-turn';
import type { LuaScript } from '../../redis/scripts';
import type { Heartbeat, HeartbeatResult } from '../store';
import { encodeBody, headOf } from './cells';
import type { Keys } from './keys';

/** Heartbeats in one run of the script: Redis does nothing else meanwhile. */
const MAX_BEATS = 128;

/**
 * Heartbeats, all that come in one turn of the event loop in one run of the script. Most reports of a large fleet are no
 * more than that, and to decide each as a command would cost twice as much.
 *
 * @returns what takes one of them; it throws BerthError as `RedisClient.run`
 */
export function groupHeartbeat(
  client: RedisClient,
  script: LuaScript,
  keys: Keys,
): (beat: Heartbeat) => Promise<HeartbeatResult> {
  const scriptKeys = [keys.heartbeats, keys.provider, keys.host, keys.sequence];
  const run = async (group: readonly Heartbeat[]) => {
    const answers = (await client.runScript(script, scriptKeys, group.flatMap(argsOf))) as string[];
    return answers.map(resultOf);
  };
  return perTurn(
    upTo<Heartbeat>(MAX_BEATS, () => 1),
    run,
  );
}

function argsOf(beat: Heartbeat): (string | number)[] {
  const { host, atMs, hostRevision, providerUuid, providerRevision } = beat;
  const report = encodeBody('sequence', beat);
  return [host, report, atMs, headOf(hostRevision), providerUuid, headOf(providerRevision)];
}

function resultOf(answer: string): HeartbeatResult {
  if (answer === 'unchanged' || answer === 'changed') return { kind: answer };
  return { kind: 'stale', present: Number(answer) };
}
