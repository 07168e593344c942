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
}): SettingsSender {
  const { engine, sessions, knowsAll } = deps;
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

  return {
    connected: (cluster) => {
      refresh();
      if (settings !== undefined) sessions.get(cluster)?.session.settings(settings);
    },
    run: () => {
      if (!refresh() || settings === undefined) return;
      for (const { session } of sessions.values()) session.settings(settings);
    },
  };
}
