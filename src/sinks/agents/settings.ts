import type { Derived } from '../../engine/collections/types.ts';
import { sectionsOf } from '../../engine/fleet/policy.ts';
import type { Engine } from '../../engine/graph.ts';
import { type AgentNeeds, type AgentSettings, settingsText } from '../../model/agent/agent-settings.ts';
import type { FleetPolicy } from '../../model/fleet/desired.ts';
import { boundPolicy, defaultFleetPolicy, settingsOfPolicy, toldOfPolicy } from '../../model/fleet/fleet-policy.ts';
import { merged } from '../../model/values/merged.ts';
import type { ServerParts } from '../../runtime/parts.ts';

/**
 * Sends agents their settings: at each connect, and whenever the settings of their cluster change. `knowsAll`: every source has
 * been read completely. Before that a missing policy may be an unreadable one, and agents keep the settings that they have.
 */
export function createSettingsSender(
  { engine, sessions, suspensions }: Pick<ServerParts, 'engine' | 'sessions' | 'suspensions'>,
  knowsAll: () => boolean,
) {
  const changes = needsOf(engine).map(({ needs }) => engine.graph.watch(needs));
  const sections = sectionsOf(engine);
  const told = toldOfPolicy(sections);
  /** Suspended clusters with unsent settings. */
  const unsent = new Set<string>();
  /** The policy in force as it was declared, and within the bounds of the server. */
  let declared: FleetPolicy | undefined;
  let policy: FleetPolicy | undefined;
  /** The settings that all clusters share; undefined: no policy is known yet. */
  let common: string | undefined;

  /** Takes the policy in force; true if its settings for all agents have changed. */
  const refresh = (): boolean => {
    const inForce = engine.policy.get('', '')?.value ?? (knowsAll() ? defaultFleetPolicy : undefined);
    if (inForce === undefined || inForce === declared) return false;
    declared = inForce;
    const bounds = engine.inputs.fleet.get('', '')?.bounds;
    policy = bounds === undefined ? inForce : boundPolicy(inForce, bounds, sections).policy;
    const before = common;
    common = settingsText(settingsOfPolicy(policy, told));
    return before !== common;
  };
  const send = (cluster: string): void => {
    if (policy === undefined) return;
    unsent.delete(cluster);
    if (suspensions.get('cluster', cluster) !== undefined) unsent.add(cluster);
    else sessions.get(cluster)?.session.settings(agentSettings(engine, cluster, policy));
  };

  return {
    connected: (cluster: string): void => {
      refresh();
      send(cluster);
    },
    /** Runs after each commit. */
    run: (): void => {
      const changed = changes.flatMap((watch) => watch.take().map(({ key }) => key));
      const due = refresh() ? [...sessions.keys()] : new Set([...unsent, ...changed]);
      for (const cluster of due) send(cluster);
    },
  };
}

/** The settings of the agent of a cluster under a policy. */
export function agentSettings(engine: Engine, cluster: string, inForce: FleetPolicy): AgentSettings {
  const all = needsOf(engine).map(({ name, needs }) => ({ name, ...needs.get('', cluster) }));
  return settingsOfPolicy(inForce, toldOfPolicy(sectionsOf(engine)), {
    kinds: all.flatMap(({ kinds = [] }) => kinds),
    settings: merged(
      'member of the settings of an agent',
      all.map(({ name, settings }) => [name, settings]),
    ),
  });
}

function needsOf({ domains }: Engine): readonly { readonly name: string; readonly needs: Derived<AgentNeeds> }[] {
  return domains.flatMap(({ domain: { name }, parts: { agents } }) =>
    agents?.needs === undefined ? [] : [{ name, needs: agents.needs }],
  );
}
