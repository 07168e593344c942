import type { Engine } from '../../engine/graph.ts';
import type { AgentSettings } from '../../model/agent-settings.ts';
import type { FleetPolicy } from '../../model/desired.ts';
import { defaultFleetPolicy, settingsOfPolicy } from '../../model/fleet-policy.ts';
import { settingsText } from '../../model/settings-text.ts';
import type { Sessions } from '../../runtime/sessions.ts';

/** Tells agents what the fleet's policy says to them: at each connect, and whenever it changes. */
export interface SettingsSender {
  connected(cluster: string): void;
  /** Runs after each commit. */
  run(): void;
}

/**
 * `knowsAll`: every source has been read and is whole. Before that a policy that is not there may only not be readable,
 * and agents go on with what they were told last.
 */
export function createSettingsSender(deps: {
  readonly engine: Engine;
  readonly sessions: Sessions;
  readonly knowsAll: () => boolean;
  /** A person wants the cluster to be sent nothing for now. */
  readonly isSuspended: (cluster: string) => boolean;
}): SettingsSender {
  const { engine, sessions, knowsAll, isSuspended } = deps;
  /** Suspended clusters that have to be told yet. */
  const untold = new Set<string>();
  let policy: FleetPolicy | undefined;
  let settings: AgentSettings | undefined;

  const refresh = (): boolean => {
    const inForce = engine.policy.get('', '')?.value ?? (knowsAll() ? defaultFleetPolicy : undefined);
    if (inForce === undefined || inForce === policy) return false;
    policy = inForce;
    const before = settings;
    settings = settingsOfPolicy(inForce);
    return before === undefined || settingsText(before) !== settingsText(settings);
  };

  const tell = (cluster: string): void => {
    if (settings === undefined) return;
    if (isSuspended(cluster)) {
      untold.add(cluster);
      return;
    }
    untold.delete(cluster);
    sessions.get(cluster)?.session.settings(settings);
  };

  return {
    connected: (cluster) => {
      refresh();
      tell(cluster);
    },
    run: () => {
      for (const cluster of refresh() ? sessions.keys() : [...untold]) tell(cluster);
    },
  };
}
