import type { OutputView } from '../../api/server-api.ts';
import type { Diagnostic } from '../../model/diagnostic.ts';
import { displayLocation } from '../../model/diagnostic.ts';
import { engineKindIds, engineKindRow } from '../../model/engine-kinds.ts';
import { isNameOf, parseObjectName } from '../../model/explain-query.ts';
import { type JsonObject, textOf } from '../../model/json.ts';
import { isBuiltInWord, isKindWord } from '../../model/kinds.ts';
import { suggestion } from '../../model/messages.ts';
import type { ObjectRef } from '../../model/object-key.ts';
import { printable } from '../../model/printable.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import {
  CLUSTER_COLUMNS,
  DATAPLANE_COLUMNS,
  DIAGNOSTIC_COLUMNS,
  DRIFT_COLUMNS,
  ENDPOINT_COLUMNS,
  MIRRORED_SERVICE_COLUMNS,
  OUTPUT_COLUMNS,
  REMEDIATION_COLUMNS,
  REMOVAL_COLUMNS,
  removalRows,
  SERVICE_COLUMNS,
  SOURCE_COLUMNS,
  shootColumns,
} from '../views.ts';
import { type ListedKind, listedKind } from './listed-kind.ts';

const OBJECT_NAMING = 'NAME, KIND, KIND/NAME or KIND/NAMESPACE/NAME';

export const CLUSTERS = listedKind({
  ...{
    name: 'clusters',
    words: ['cluster', 'kubernetescluster', 'kubernetesclusters'],
    one: 'cluster',
    many: 'clusters',
  },
  ...{ what: 'the clusters: connected, in sync, how much is applied', naming: 'NAME' },
  columns: CLUSTER_COLUMNS,
  ask: async (api, { cluster }) => {
    const all = await api.list('clusters');
    if (cluster === undefined || all.some(({ name }) => name === cluster)) return all;
    throw new CliError(EXIT.notFound, `there is no cluster ${cluster}`);
  },
  nameOf: ({ name }) => name,
  clusterOf: ({ name }) => name,
  labelsOf: ({ labels }) => labels,
});

export const SOURCES = listedKind({
  ...{ name: 'sources', words: ['source'], one: 'source', many: 'sources' },
  ...{ what: 'where desired state is read from, and at which revision', naming: 'NAME' },
  columns: SOURCE_COLUMNS,
  ask: (api) => api.list('sources'),
  nameOf: ({ name }) => name,
});

const OUTPUTS = listedKind({
  ...{ name: 'outputs', words: ['output', 'object', 'objects'], one: 'output', many: 'outputs' },
  ...{ what: 'the objects that clusters should hold, and what became of each', naming: OBJECT_NAMING },
  asked: ['cluster'],
  columns: OUTPUT_COLUMNS,
  ask: (api, { cluster }) => api.list('outputs', { cluster }),
  nameOf: ({ object }) => object,
  // It names itself: `fleetrelay explain CLUSTER` takes it as it is.
  fullNameOf: ({ object }) => object,
  idOf: ({ cluster, object }: OutputView) => `${cluster} ${object}`,
  isNamed: ({ object }, word) => isObjectNamed(object, word),
  isFilter: isBuiltInWord,
  clusterOf: ({ cluster }) => cluster,
  namespaceOf: ({ object }) => shownRef(object).namespace,
});

const REMOVALS = listedKind({
  ...{ name: 'removals', words: ['removal'], one: 'held removal', many: 'removals' },
  ...{
    what: 'what a guard holds back until a person approves it',
    naming: `the digest or its beginning, ${OBJECT_NAMING}`,
  },
  columns: REMOVAL_COLUMNS,
  ask: async (api) => removalRows(await api.list('removals')),
  nameOf: ({ object }) => object,
  fullNameOf: ({ digest }) => `removal/${digest}`,
  idOf: ({ digest, cluster, object }) => `${digest} ${cluster} ${object}`,
  isNamed: ({ digest, object }, word) =>
    (word.length >= SHORTEST_DIGEST && digest.startsWith(word)) || isObjectNamed(object, word),
  isFilter: isBuiltInWord,
  clusterOf: ({ cluster }) => cluster,
  namespaceOf: ({ object }) => shownRef(object).namespace,
});

const DIAGNOSTICS = listedKind({
  ...{ name: 'diagnostics', words: ['diagnostic', 'diag'], one: 'diagnostic', many: 'diagnostics' },
  ...{ what: 'findings about the files of the sources', naming: 'the code or the reason' },
  columns: DIAGNOSTIC_COLUMNS,
  ask: (api) => api.list('diagnostics'),
  nameOf: ({ code }) => code,
  idOf: ({ code, at, message }: Diagnostic) => `${code} ${at === undefined ? '' : displayLocation(at)} ${message}`,
  isNamed: ({ code, reason }, word) => [code, reason].some((text) => text.toLowerCase() === word.toLowerCase()),
});

const MESH_FILTERS = ['mesh', 'cluster', 'tags'] as const;

const DATAPLANES = listedKind<JsonObject>({
  ...{ name: 'dataplanes', words: ['dataplane'], one: 'data plane', many: 'data planes' },
  ...{ what: 'data planes of meshes, and why one is not online', naming: 'NAME or MESH/NAME' },
  asked: MESH_FILTERS,
  columns: DATAPLANE_COLUMNS,
  ask: (api, filter) => api.view('dataplanes', asView(filter)),
  nameOf: ({ mesh, name }) => `${textOf(mesh)}/${textOf(name)}`,
  idOf: ({ mesh, name, cluster }) => [mesh, name, cluster].map(textOf).join(' '),
  isNamed: ({ mesh, name }, word) => isIn(mesh, name, word),
});

const SERVICES = listedKind<JsonObject>({
  ...{ name: 'services', words: ['service'], one: 'service of a mesh', many: 'services' },
  ...{ what: 'services of meshes; Services of clusters are outputs', naming: 'NAME or MESH/NAME' },
  asked: MESH_FILTERS,
  columns: SERVICE_COLUMNS,
  ask: (api, filter) => api.view('services', asView(filter)),
  nameOf: ({ mesh, name }) => `${textOf(mesh)}/${textOf(name)}`,
  isNamed: ({ mesh, name }, word) => isIn(mesh, name, word),
});

const ENDPOINTS = listedKind<JsonObject>({
  ...{ name: 'endpoints', words: ['endpoint'], one: 'service of a mesh', many: 'endpoints' },
  ...{ what: 'load-balancing sets of meshes: what may receive traffic now', naming: 'SERVICE or MESH/SERVICE' },
  asked: MESH_FILTERS,
  columns: ENDPOINT_COLUMNS,
  ask: (api, filter) => api.view('endpoints', asView(filter)),
  nameOf: ({ mesh, service }) => `${textOf(mesh)}/${textOf(service)}`,
  fullNameOf: ({ mesh, service, address, port }) =>
    `endpoint/${textOf(mesh)}/${textOf(service)}/${textOf(address)}:${String(port)}`,
  idOf: ({ mesh, service, address, port }) => [mesh, service, address, port].map(String).join(' '),
  isNamed: ({ mesh, service }, word) => isIn(mesh, service, word),
});

const MIRRORED_SERVICES = listedKind<JsonObject>({
  ...{ name: 'mirrored-services', words: ['mirrored-service', 'mirror', 'mirrors'] },
  ...{ one: 'mirrored service', many: 'mirrored-services' },
  ...{ what: 'every Service that is made known in other clusters', naming: OBJECT_NAMING },
  columns: MIRRORED_SERVICE_COLUMNS,
  ask: (api) => api.view('mirrored-services'),
  nameOf: ({ service }) => textOf(service),
  idOf: ({ service, from, mirror }) => [service, from, mirror].map(textOf).join(' '),
  isNamed: ({ service, mirror }, word) => textOf(mirror) === word || isObjectNamed(textOf(service), word),
  namespaceOf: ({ service }) => shownRef(textOf(service)).namespace,
});

const DRIFT = listedKind<JsonObject>({
  ...{ name: 'drift', words: ['drifts'], one: 'drift', many: 'drift' },
  ...{ what: 'what others have changed or removed of applied objects', naming: OBJECT_NAMING },
  asked: ['cluster'],
  columns: DRIFT_COLUMNS,
  ask: (api, filter) => api.view('drift', asView(filter)),
  nameOf: ({ object }) => textOf(object),
  fullNameOf: ({ object }) => textOf(object),
  idOf: ({ cluster, object }) => `${textOf(cluster)} ${textOf(object)}`,
  isNamed: ({ object }, word) => isObjectNamed(textOf(object), word),
  isFilter: isBuiltInWord,
  clusterOf: ({ cluster }) => textOf(cluster),
  namespaceOf: ({ object }) => shownRef(textOf(object)).namespace,
});

const REMEDIATIONS = listedKind<JsonObject>({
  ...{ name: 'remediations', words: ['remediation'], one: 'remediation', many: 'remediations' },
  ...{ what: "what agents have changed of others' webhooks, or would change", naming: 'the webhook configuration' },
  asked: ['cluster'],
  columns: REMEDIATION_COLUMNS,
  ask: (api, filter) => api.view('remediations', asView(filter)),
  nameOf: ({ configuration }) => textOf(configuration),
  idOf: ({ cluster, id }) => `${textOf(cluster)} ${textOf(id)}`,
});

const SHOOTS = listedKind<JsonObject>({
  ...{ name: 'shoots', words: ['shoot'], one: 'Shoot', many: 'Shoots' },
  ...{ what: 'Shoots: the last operation, and the worst of the conditions', naming: 'NAME or NAMESPACE/NAME' },
  asked: ['cluster'],
  columns: shootColumns(() => Date.now()),
  ask: (api, filter) => api.view('shoots', asView(filter)),
  nameOf: ({ namespace, name }) => `${textOf(namespace)}/${textOf(name)}`,
  idOf: ({ namespace, name, cluster }) => [namespace, name, cluster].map(textOf).join(' '),
  isNamed: ({ namespace, name }, word) => isIn(namespace, name, word),
  namespaceOf: ({ namespace }) => textOf(namespace),
});

/** Every kind that a server lists. */
export const LISTED_KINDS: readonly ListedKind[] = [
  ...[CLUSTERS, OUTPUTS, SOURCES, REMOVALS, DIAGNOSTICS, DATAPLANES, SERVICES, ENDPOINTS],
  ...[MIRRORED_SERVICES, DRIFT, REMEDIATIONS, SHOOTS],
];

/** A kind, and the words that name what is wanted of it. */
export interface Wanted {
  readonly kind: ListedKind;
  readonly words: readonly string[];
}

/**
 * What is asked for by these words, as for kubectl: `KIND NAME...`, or `KIND/NAME`. A kind of Kubernetes stands for the outputs of
 * that kind. Throws a usage error that names all kinds.
 */
export function wantedBy(first: string, words: readonly string[]): Wanted {
  const whole = kindNamed(first);
  if (whole !== undefined) return { kind: whole, words };
  const slash = first.indexOf('/');
  const [head, rest] = slash < 0 ? [first, undefined] : [first.slice(0, slash), first.slice(slash + 1)];
  const kind = rest === undefined || rest === '' ? undefined : kindNamed(head);
  if (kind !== undefined) return { kind, words: [rest ?? '', ...words] };
  if (!isBuiltInWord(head)) throw unknownKind(head);
  if (rest !== undefined || words.length === 0) return { kind: OUTPUTS, words: [first, ...words] };
  return { kind: OUTPUTS, words: words.map((word) => `${first}/${word}`) };
}

function kindNamed(word: string): ListedKind | undefined {
  const written = word.toLowerCase();
  return LISTED_KINDS.find(({ name, words }) => name === written || words.includes(written));
}

function unknownKind(word: string): CliError {
  const declared = engineKindIds.find((id) => isKindWord(word, engineKindRow(id)));
  const shown = printable(word);
  if (declared !== undefined) {
    const hint = `the repository declares it; see \`fleetrelay explain ${engineKindRow(declared).kind}/NAME\``;
    return new CliError(EXIT.usage, `${shown} is no kind that the server lists`, hint);
  }
  const meant = suggestion(
    word,
    LISTED_KINDS.flatMap(({ name, words }) => [name, words[0]]),
  );
  const guess = meant === undefined ? '' : `did you mean ${meant}? `;
  const all = LISTED_KINDS.map(({ name }) => name).join(', ');
  return new CliError(EXIT.usage, `there is no kind ${shown}`, `${guess}the kinds are ${all}`);
}

/** The part of a filter that a view of the server knows. */
function asView({ mesh, cluster, tags }: Parameters<ListedKind['ask']>[1]) {
  return {
    ...(mesh === undefined ? {} : { mesh }),
    ...(cluster === undefined ? {} : { cluster }),
    ...(tags === undefined ? {} : { tags }),
  };
}

const SHORTEST_DIGEST = 8;

/** Whether a word is the name, or the place and the name. */
function isIn(place: JsonObject[string] | undefined, name: JsonObject[string] | undefined, word: string): boolean {
  return textOf(name) === word || `${textOf(place)}/${textOf(name)}` === word;
}

/** Whether a word names an object (`Deployment.apps/web/frontend`): by its name, its kind, or both. */
function isObjectNamed(object: string, word: string): boolean {
  const ref = shownRef(object);
  if (!word.includes('/')) return ref.name === word || isKindWord(word, ref);
  const wanted = parseObjectName(word);
  return wanted.ok && isNameOf(wanted.value, ref);
}

/** The parts of an object that a server has displayed. */
function shownRef(object: string): ObjectRef {
  const [kindAndGroup = '', ...rest] = object.split('/');
  const dot = kindAndGroup.indexOf('.');
  const [namespace, name] = rest.length > 1 ? rest : ['', rest[0]];
  return {
    group: dot < 0 ? '' : kindAndGroup.slice(dot + 1),
    kind: dot < 0 ? kindAndGroup : kindAndGroup.slice(0, dot),
    namespace: namespace ?? '',
    name: name ?? '',
  };
}
