import type { Derived } from '../../engine/collections/types.ts';
import type { Engine } from '../../engine/graph.ts';
import { type AgentSettings, settingsText } from '../../model/agent-settings.ts';
import type { FleetPolicy } from '../../model/desired.ts';
import { defaultFleetPolicy, settingsOfPolicy } from '../../model/fleet-policy.ts';
import { compareText } from '../../model/json.ts';
import type { Sessions } from '../../runtime/sessions.ts';

/** Sends agents their settings: at each connect, and whenever the settings of their cluster change. */
export interface SettingsSender {
  connected(cluster: string): void;
  /** Runs after each commit. */
  run(): void;
}

/**
 * `knowsAll`: every source has been read and is whole. Before that a policy that is not there may only not be readable,
 * and agents go on with the settings that they have.
 */
export function createSettingsSender(deps: {
  readonly engine: Engine;
  readonly sessions: Sessions;
  readonly knowsAll: () => boolean;
  /** A person wants the cluster to be sent nothing for now. */
  readonly isSuspended: (cluster: string) => boolean;
}): SettingsSender {
  const { engine, sessions, knowsAll, isSuspended } = deps;
  const changes = discoversOf(engine).map((discovers) => engine.graph.watch(discovers));
  /** Clusters whose settings are to be sent once they are not suspended any more. */
  const unsent = new Set<string>();
  let policy: FleetPolicy | undefined;
  /** What every cluster is told; `undefined`: no policy is known yet. */
  let common: string | undefined;

  /** Takes the policy in force; answers whether what it says to agents has changed. */
  const refresh = (): boolean => {
    const inForce = engine.policy.get('', '')?.value ?? (knowsAll() ? defaultFleetPolicy : undefined);
    if (inForce === undefined || inForce === policy) return false;
    policy = inForce;
    const before = common;
    common = settingsText(settingsOfPolicy(inForce));
    return before !== common;
  };
  const tell = (cluster: string): void => {
    if (policy === undefined) return;
    if (isSuspended(cluster)) {
      unsent.add(cluster);
      return;
    }
    unsent.delete(cluster);
    sessions.get(cluster)?.session.settings(agentSettings(engine, cluster, policy));
  };

  return {
    connected: (cluster) => {
      refresh();
      tell(cluster);
    },
    run: () => {
      const moved = changes.flatMap((watch) => watch.take().map(({ key }) => key));
      const due = refresh() ? sessions.keys() : new Set([...unsent, ...moved]);
      for (const cluster of due) tell(cluster);
    },
  };
}

/** The settings of the agent of a cluster under a policy. */
export function agentSettings(engine: Engine, cluster: string, inForce: FleetPolicy): AgentSettings {
  const kinds = new Set(discoversOf(engine).flatMap((discovers) => discovers.get('', cluster) ?? []));
  return settingsOfPolicy(inForce, [...kinds].sort(compareText));
}

function discoversOf({ domains }: Engine): readonly Derived<readonly string[]>[] {
  return domains.flatMap(({ parts: { discovers } }) => discovers ?? []);
}
