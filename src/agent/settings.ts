import { type AgentSettings, NO_SETTINGS } from '../model/agent-settings.ts';
import { settingsText } from '../model/settings-text.ts';
import type { ClusterApi } from '../ports/cluster-api.ts';

/** What the fleet's policy says to this agent, in force. */
export interface SettingsInForce {
  current(): AgentSettings;
  /** Puts these in force, in the cluster too; false if they were so already. */
  take(settings: AgentSettings): boolean;
}

/** Starts with none. */
export function createSettingsInForce(cluster: ClusterApi): SettingsInForce {
  let current = NO_SETTINGS;
  return {
    current: () => current,
    take(settings) {
      if (settingsText(settings) === settingsText(current)) return false;
      current = settings;
      cluster.configure(settings);
      return true;
    },
  };
}
