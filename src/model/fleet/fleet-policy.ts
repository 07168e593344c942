import { additionalKindsOf } from '../agent/additional-kinds.ts';
import { type AgentNeeds, type AgentSettings, MOST_SETTINGS_BYTES, settingsText } from '../agent/agent-settings.ts';
import type { FieldPath } from '../text/field-path.ts';
import { compareText } from '../text/json.ts';
import { given } from '../values/given.ts';
import { merged } from '../values/merged.ts';
import type { FleetPolicy, GuardLimits } from './desired.ts';
import type { PolicyBounds } from './relay-config.ts';

/** The defaults of a FleetPolicy. The schema documents the same figures. */
export const defaultFleetPolicy: FleetPolicy = {
  guards: {
    maxRemovalsPerCluster: 10,
    maxRemovalPercentPerCluster: 50,
    maxRemovalsPerFleet: 50,
    maxRemovalPercentPerFleet: 30,
    percentFromOwned: 10,
    windowSeconds: 600,
  },
  safeMode: { mode: 'scoped', safeStartWindowSeconds: 180 },
  status: { enabled: true, minIntervalSeconds: 2 },
  discovery: { excludedNamespaces: [], excludedKinds: [] },
  drift: { ignoredFields: [] },
  healthChecks: [],
};

/** What a domain makes of its section of a policy. */
export interface PolicySection {
  /** Of the domain. */
  readonly name: string;
  /** Cuts the section to the bounds of the server, and adds each cut. */
  readonly bound?: (policy: FleetPolicy, bounds: PolicyBounds, cuts: PolicyCut[]) => FleetPolicy;
  /** What all agents are told of it. */
  readonly forAgents?: ToldOfPolicy;
}

/** Members of the settings of agents, by name, as they follow from a policy. */
export type ToldOfPolicy = {
  readonly [Name in keyof AgentSettings]?: (policy: FleetPolicy) => AgentSettings[Name];
};

/** What domains tell all agents of a policy. Throws if two tell one member. */
export function toldOfPolicy(sections: readonly PolicySection[]): ToldOfPolicy {
  return merged<unknown>(
    'member of the settings of agents',
    sections.map(({ name, forAgents }) => [name, forAgents]),
  ) as ToldOfPolicy;
}

/**
 * The settings that a policy makes for agents; `told`: what domains tell them of it; `needs`: what domains need of the cluster. Lists that are too long for settings
 * are left out: the agent then reports more than is needed.
 */
export function settingsOfPolicy(policy: FleetPolicy, told: ToldOfPolicy, needs?: AgentNeeds): AgentSettings {
  const { discovery, drift, healthChecks } = policy;
  const excludedKinds = discovery.excludedKinds.map(kindAsInKeys).sort(compareText);
  const common = {
    ignoredFields: drift.ignoredFields ?? [],
    ...Object.fromEntries(Object.entries(told).map(([name, of]) => [name, of(policy)])),
    ...(healthChecks.length === 0 ? {} : { healthChecks }),
    ...(drift.mode === 'Report' ? ({ driftMode: 'Report' } as const) : {}),
    ...given({ driftModeBound: drift.isModeBound }),
    ...(drift.ignoreLiveOptOuts === true ? ({ ignoreLiveOptOuts: true } as const) : {}),
  };
  if (needs === undefined) return { ...common, discovery: { ...discovery, excludedKinds } };
  const { kinds, settings: own } = needs;
  const narrowed = (lists: 'short' | 'none'): AgentSettings => {
    const additionalKinds = additionalKindsOf(kinds, lists);
    return {
      ...common,
      discovery: { ...discovery, excludedKinds, ...(additionalKinds.length === 0 ? {} : { additionalKinds }) },
      ...own,
    };
  };
  const settings = narrowed('short');
  return Buffer.byteLength(settingsText(settings)) <= MOST_SETTINGS_BYTES ? settings : narrowed('none');
}

/** A kind as a policy writes it, `Kind` or `Kind.group`, as `group/Kind`. */
export function kindAsInKeys(written: string): string {
  const dot = written.indexOf('.');
  return dot < 0 ? `/${written}` : `${written.slice(dot + 1)}/${written.slice(0, dot)}`;
}

/** A setting that exceeds the bounds of the server. */
export interface PolicyCut {
  readonly field: FieldPath;
  /** "guards.x is 5, the server allows 3". */
  readonly message: string;
}

/** A policy within the bounds of the server, and the settings that were cut to them. */
export interface BoundedPolicy {
  readonly policy: FleetPolicy;
  readonly cuts: readonly PolicyCut[];
}

/** Cuts a policy to the bounds in the RelayConfig. A larger limit is looser; a shorter window is looser. */
export function boundPolicy(
  policy: FleetPolicy,
  bounds: PolicyBounds,
  sections: readonly PolicySection[] = [],
): BoundedPolicy {
  const cuts: PolicyCut[] = [];
  const guards: Record<keyof GuardLimits, number> = { ...policy.guards };
  for (const name of Object.keys(guards) as (keyof GuardLimits)[]) {
    const bound = bounds.guards[name];
    const wanted = guards[name];
    const isLooser = bound !== undefined && (name === 'windowSeconds' ? wanted < bound : wanted > bound);
    if (!isLooser) continue;
    guards[name] = bound;
    cuts.push({
      field: ['spec', 'guards', name],
      message: `guards.${name} is ${wanted}, the server allows ${bound}`,
    });
  }
  const safeMode = { ...policy.safeMode, mode: allowedMode(policy, bounds, cuts) };
  const drift = allowedDrift(policy, bounds, cuts);
  const bounded = sections.reduce((cut, { bound }) => bound?.(cut, bounds, cuts) ?? cut, policy);
  return { policy: { ...bounded, guards, safeMode, drift }, cuts };
}

function allowedMode({ safeMode: { mode } }: FleetPolicy, { safeModes }: PolicyBounds, cuts: PolicyCut[]) {
  if (safeModes.length === 0 || safeModes.includes(mode)) return mode;
  cuts.push({
    field: ['spec', 'safeMode', 'mode'],
    message: `safeMode.mode is ${mode}, the server allows ${safeModes.join(', ')}`,
  });
  return safeModes.includes('scoped') ? 'scoped' : safeModes.includes('strict') ? 'strict' : (safeModes[0] ?? 'strict');
}

function allowedDrift(
  { drift }: FleetPolicy,
  { ignoreLiveOptOuts, driftMode }: PolicyBounds,
  cuts: PolicyCut[],
): FleetPolicy['drift'] {
  const cut = (name: 'ignoreLiveOptOuts' | 'mode', bound: string | boolean | undefined): void => {
    const written = drift[name];
    if (bound === undefined || written === undefined || written === bound) return;
    const message = `drift.${name} is ${written}, the server sets ${bound}`;
    cuts.push({ field: ['spec', 'drift', name], message });
  };
  cut('ignoreLiveOptOuts', ignoreLiveOptOuts);
  cut('mode', driftMode);
  return {
    ...drift,
    ...given({ ignoreLiveOptOuts }),
    ...(driftMode === undefined ? {} : { mode: driftMode, isModeBound: true }),
  };
}
