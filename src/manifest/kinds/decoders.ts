import { validate as validateCluster } from '../../../generated/kubernetes-cluster.js';
import { validate as validatePlacement } from '../../../generated/placement.js';
import { validate as validateApproval } from '../../../generated/removal-approval.js';
import type { DeclarationValues } from '../../model/fleet/desired.ts';
import { type EngineKind, engineKindIds } from '../../model/fleet/engine-kinds.ts';
import { parseClusterName, parseDigest, quote } from '../../model/fleet/ids.ts';
import { readGlob } from '../../model/text/glob.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { countWildcards } from '../../model/text/path-pattern.ts';
import { parseRfc3339 } from '../../model/text/time.ts';
import { given } from '../../model/values/given.ts';
import { merged } from '../../model/values/merged.ts';
import { must } from '../../model/values/result.ts';
import { fieldError, fieldWarning } from '../problem.ts';
import { createPolicyReader, type DomainPolicy } from './policy.ts';
import { type Decoded, decoder } from './reading.ts';
import { checkLabels, readClusterChoice, sortedUnique } from './selectors.ts';

/** The decoder of each engine kind. */
export type Decoders = {
  readonly [Kind in EngineKind]: (document: JsonObject) => Decoded<DeclarationValues[Kind]>;
};

/** What a domain adds to the reading of manifests. */
export interface DomainManifest extends DomainPolicy {
  /** The decoders of its kinds. */
  readonly decoders: Partial<Decoders>;
}

/** The decoders of all engine kinds. Throws if no domain decodes a kind of the registry. */
export function createDecoders(domains: readonly (DomainManifest & { readonly name: string })[]): Decoders {
  const all = merged<unknown>('decoder of the kind', [
    ['fleetrelay', { ...CORE, FleetPolicy: createPolicyReader(domains) }],
    ...domains.map(({ name, decoders }) => [name, decoders] as const),
  ]) as Partial<Decoders>;
  const missing = engineKindIds.find((id) => all[id] === undefined);
  if (missing !== undefined) throw new Error(`no domain decodes the kind ${missing}`);
  return all as Decoders;
}

const CORE: Pick<Decoders, 'KubernetesCluster' | 'Placement' | 'RemovalApproval'> = {
  KubernetesCluster: decoder(validateCluster, ({ metadata, spec }, problems) => {
    const labels = metadata.labels ?? {};
    problems.push(...checkLabels(labels, ['metadata', 'labels']));
    const name = parseClusterName(metadata.name);
    if (!name.ok) problems.push(fieldError('BadName', ['metadata', 'name'], name.problem));
    const { clusterDomain = 'cluster.local', skipWarming = false } = spec ?? {};
    return name.ok ? { name: name.value, labels, clusterDomain, skipWarming } : undefined;
  }),
  Placement: decoder(validatePlacement, ({ metadata, spec }, problems) => {
    for (const [index, glob] of spec.paths.entries()) {
      const bad = globProblem(glob);
      if (bad !== undefined) problems.push(fieldError('BadPath', ['spec', 'paths', index], bad));
      else if (/(?:^|[/{,])\./.test(glob)) {
        const message = `the path ${quote(glob)} names a file or folder that begins with a dot, and none of these is read`;
        const hint = 'give the folder a name without the dot';
        problems.push(fieldWarning('BadPath', ['spec', 'paths', index], message, hint));
      }
    }
    const clusters = readClusterChoice(spec.clusters, ['spec', 'clusters'], problems);
    const driftMode = spec.drift?.mode;
    const drift = given({ driftMode });
    return { name: metadata.name, paths: sortedUnique(spec.paths), clusters, ...drift };
  }),
  RemovalApproval: decoder(validateApproval, ({ metadata, spec: { digest: written, expires } }, problems) => {
    // The schema has the form of digests.
    const digest = must(parseDigest(written));
    const expiresAt = expires === undefined ? undefined : parseRfc3339(expires);
    if (expires !== undefined && expiresAt === undefined) {
      const message = 'it is not an RFC 3339 time with a zone, as 2026-01-31T10:42:07Z';
      problems.push(fieldError('BadTime', ['spec', 'expires'], message));
    }
    return { name: metadata.name, digest, ...given({ expiresAt }) };
  }),
};

/** Each wildcard can cost work for every character of every path. */
const MAX_WILDCARDS = 100;

/** Why the text is no path glob of a Placement; undefined if it is one. The wildcards are `*`, `**`, `?`, `[...]` and `{a,b}`. */
export function globProblem(glob: string): string | undefined {
  const shown = quote(glob);
  if (glob === '') return 'a path must not be empty';
  if (glob.length > 1024) return 'a path must not be longer than 1024 characters';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is the point.
  if (/[\u0000-\u001f\u007f]/.test(glob)) return `the path ${shown} holds a control character`;
  if (glob.includes('\\')) return `the path ${shown} holds a "\\"; folders are separated by "/"`;
  if (glob.startsWith('/'))
    return `the path ${shown} must be relative to the root of the source: remove the leading "/"`;
  if (glob.startsWith('!')) return `the path ${shown} must not begin with "!"; only what is listed is selected`;
  if (/[()|]/.test(glob)) return `the path ${shown} holds "(", ")" or "|"; only *, **, ?, [abc] and {a,b} are allowed`;
  const segments = glob.split('/');
  if (segments.some((segment) => segment === '..' || segment === '.')) {
    return `the path ${shown} must not hold "." or ".." as a folder`;
  }
  if (segments.slice(0, -1).includes('')) return `the path ${shown} holds "//"`;
  const reading = readGlob(glob);
  if (!reading.ok) return `the path ${shown} ${reading.problem}`;
  if (countWildcards(reading.value) <= MAX_WILDCARDS) return undefined;
  return `the path ${shown} holds more than ${MAX_WILDCARDS} wildcards, alternatives in braces among them`;
}
