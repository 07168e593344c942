import { type FleetPolicySpec, validate } from '../../../generated/fleet-policy.js';
import {
  type IgnoredFields,
  MOST_POLICY_BYTES,
  parseSettings,
  settingsText,
} from '../../model/agent/agent-settings.ts';
import type { FleetPolicy } from '../../model/fleet/desired.ts';
import {
  defaultFleetPolicy,
  type PolicySection,
  settingsOfPolicy,
  toldOfPolicy,
} from '../../model/fleet/fleet-policy.ts';
import { type HealthCheck, kindOfCheck } from '../../model/objects/health-check.ts';
import type { LabelSelector } from '../../model/objects/label-selector.ts';
import { compareText, type JsonObject } from '../../model/text/json.ts';
import { merged } from '../../model/values/merged.ts';
import { type FieldProblem, fieldError } from '../problem.ts';
import { type Decoded, decoder } from './reading.ts';
import { readSelector, sortedUnique } from './selectors.ts';

/** Reads each section of a FleetPolicy, by its name, and adds what is wrong with it. */
type SectionReaders = {
  readonly [Name in keyof FleetPolicy]: (spec: FleetPolicySpec, problems: FieldProblem[]) => FleetPolicy[Name];
};

/** What a domain adds to the reading of a FleetPolicy. */
export interface DomainPolicy {
  /** Reads its sections. */
  readonly policy?: Partial<SectionReaders>;
  readonly section?: PolicySection;
}

const CORE: SectionReaders = {
  guards: ({ guards }) => ({ ...defaultFleetPolicy.guards, ...guards }),
  safeMode: ({ safeMode }) => ({ ...defaultFleetPolicy.safeMode, ...safeMode }),
  status: ({ status }) => ({ ...defaultFleetPolicy.status, ...status }),
  discovery: readDiscovery,
  drift: (spec) => ({ ...defaultFleetPolicy.drift, ...spec.drift, ignoredFields: readIgnoredFields(spec) }),
  healthChecks: readHealthChecks,
};

/** Makes the decoder of a `FleetPolicy`; it fills in the defaults. Throws if two domains have a section, or tell agents the same. */
export function createPolicyReader(
  domains: readonly (DomainPolicy & { readonly name: string })[],
): (document: JsonObject) => Decoded<FleetPolicy> {
  const readers = Object.entries(
    merged('section of a FleetPolicy', [
      ['fleetrelay', CORE],
      ...domains.map(({ name, policy }) => [name, policy] as const),
    ]),
  );
  const told = toldOfPolicy(domains.flatMap(({ section }) => section ?? []));
  return decoder(validate, ({ spec = {} }, problems): FleetPolicy => {
    const policy = Object.fromEntries(
      readers.map(([name, read]) => [name, read?.(spec, problems)]),
    ) as unknown as FleetPolicy;
    checkForAgents(settingsText(settingsOfPolicy(policy, told)), problems);
    return policy;
  });
}

/** `text`: what a policy says to all agents. */
function checkForAgents(text: string, problems: FieldProblem[]): void {
  const bytes = Buffer.byteLength(text);
  const parsed = parseSettings(text);
  if (bytes > MOST_POLICY_BYTES) {
    const message = `what it says to agents has ${bytes} bytes, at most ${MOST_POLICY_BYTES} are allowed; shorten the lists`;
    problems.push(fieldError('PolicyTooLarge', ['spec'], message));
  } else if (!parsed.ok) {
    problems.push(fieldError('PolicyNotTaken', ['spec'], `no agent would take what it says: ${parsed.problem}`));
  }
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

/** At most one for each kind, in canonical order. */
function readHealthChecks({ healthChecks = [] }: FleetPolicySpec, problems: FieldProblem[]): readonly HealthCheck[] {
  const byKind = new Map<string, HealthCheck>();
  for (const [index, check] of healthChecks.entries()) {
    const kind = kindOfCheck(check);
    if (!byKind.has(kind)) byKind.set(kind, check);
    else {
      const message = `spec.healthChecks has two entries for the kind ${kind}, and only one of them can count`;
      problems.push(
        fieldError(
          'DuplicateValue',
          ['spec', 'healthChecks', index, 'kind'],
          message,
          'join their expressions with || in one entry',
        ),
      );
    }
  }
  return [...byKind].sort(([a], [b]) => compareText(a, b)).map(([, check]) => check);
}

/** One entry for each kind, in canonical order. */
function readIgnoredFields({ drift }: FleetPolicySpec): readonly IgnoredFields[] {
  const byKind = Map.groupBy(drift?.ignoredFields ?? [], ({ group = '', kind }) => `${group}/${kind}`);
  return [...byKind]
    .sort(([a], [b]) => compareText(a, b))
    .map(([kind, entries]) => ({ kind, fields: sortedUnique(entries.flatMap(({ fields }) => fields)) }));
}
