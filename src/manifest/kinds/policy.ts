import { type FleetPolicySpec, validate } from '../../../generated/fleet-policy.js';
import type { IgnoredFields } from '../../model/agent-settings.ts';
import type { FleetPolicy } from '../../model/desired.ts';
import { defaultFleetPolicy, settingsOfPolicy } from '../../model/fleet-policy.ts';
import { compareText, type JsonObject } from '../../model/json.ts';
import type { LabelSelector } from '../../model/label-selector.ts';
import { MOST_SETTINGS_BYTES, parseSettings, settingsText } from '../../model/settings-text.ts';
import { type FieldProblem, fieldError } from '../problem.ts';
import { check, type DocumentReading, declare, identityOf, isReadable } from './reading.ts';
import { readSelector } from './selector.ts';

/** Reads a `fleetrelay.dev/v1alpha1 FleetPolicy`; what it leaves out has its default. */
export function readPolicy(document: JsonObject): DocumentReading {
  const checked = check(document, validate);
  if (!checked.ok) return { problems: checked.problems };
  const { metadata, spec = {} } = checked.value;
  const problems: FieldProblem[] = [];
  const policy: FleetPolicy = {
    guards: { ...defaultFleetPolicy.guards, ...spec.guards },
    safeMode: { ...defaultFleetPolicy.safeMode, ...spec.safeMode },
    status: { ...defaultFleetPolicy.status, ...spec.status },
    discovery: readDiscovery(spec, problems),
    drift: { ignoredFields: readIgnoredFields(spec) },
  };
  const said = settingsText(settingsOfPolicy(policy));
  const bytes = Buffer.byteLength(said);
  const taken = parseSettings(said);
  if (bytes <= MOST_SETTINGS_BYTES && !taken.ok) {
    problems.push(fieldError('PolicyNotTaken', ['spec'], `no agent would take what it says: ${taken.problem}`));
  }
  if (bytes > MOST_SETTINGS_BYTES) {
    const message = `what it says to agents has ${bytes} bytes, at most ${MOST_SETTINGS_BYTES} are allowed; shorten the lists`;
    problems.push(fieldError('PolicyTooLarge', ['spec'], message));
  }
  const identity = identityOf('FleetPolicy', metadata);
  if (!isReadable(problems)) return { identity, problems };
  return { identity, problems, content: declare('FleetPolicy', metadata, policy) };
}

function readDiscovery({ discovery = {} }: FleetPolicySpec, problems: FieldProblem[]): FleetPolicy['discovery'] {
  const selector = (
    name: 'namespaceSelector' | 'objectSelector',
  ): { readonly [key in typeof name]?: LabelSelector } => {
    const written = discovery[name];
    return written === undefined ? {} : { [name]: readSelector(written, ['spec', 'discovery', name], problems) };
  };
  return {
    excludedNamespaces: sortedUnique(discovery.excludedNamespaces),
    excludedKinds: sortedUnique(discovery.excludedKinds),
    ...selector('namespaceSelector'),
    ...selector('objectSelector'),
  };
}

/** One entry a kind, in canonical order, whatever the order they were written in. */
function readIgnoredFields({ drift }: FleetPolicySpec): readonly IgnoredFields[] {
  const byKind = new Map<string, string[]>();
  for (const { group = '', kind, fields } of drift?.ignoredFields ?? []) {
    const name = `${group}/${kind}`;
    byKind.set(name, [...(byKind.get(name) ?? []), ...fields]);
  }
  return [...byKind]
    .sort(([a], [b]) => compareText(a, b))
    .map(([kind, fields]) => ({ kind, fields: sortedUnique(fields) }));
}

function sortedUnique(texts: readonly string[] = []): readonly string[] {
  return [...new Set(texts)].sort(compareText);
}
