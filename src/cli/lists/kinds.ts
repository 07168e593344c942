import type { OutputView } from '../../api/server-api.ts';
import { type Diagnostic, displayLocation } from '../../model/fleet/diagnostic.ts';
import { isBuiltInWord } from '../../model/objects/kinds.ts';
import { type JsonObject, textOf } from '../../model/text/json.ts';
import { CliError, EXIT } from '../exit-codes.ts';
import {
  CLUSTER_COLUMNS,
  DIAGNOSTIC_COLUMNS,
  DRIFT_COLUMNS,
  OUTPUT_COLUMNS,
  REMOVAL_COLUMNS,
  removalRows,
  SOURCE_COLUMNS,
} from '../views.ts';
import { asView, type ListedKind, listedKind } from './listed-kind.ts';
import { isObjectNamed, OBJECT_NAMING, shownRef } from './object-names.ts';

export const CLUSTERS = listedKind({
  name: 'clusters',
  words: ['cluster', 'kubernetescluster', 'kubernetesclusters'],
  what: 'the clusters: connected, in sync, how much is applied',
  naming: 'NAME',
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
  name: 'sources',
  words: ['source'],
  what: 'where desired state is read from, and at which revision',
  naming: 'NAME',
  columns: SOURCE_COLUMNS,
  ask: (api) => api.list('sources'),
  nameOf: ({ name }) => name,
});

/** The objects of clusters. */
export const OUTPUTS = listedKind({
  name: 'outputs',
  words: ['output', 'object', 'objects'],
  what: 'the objects that clusters should hold, and what became of each',
  naming: OBJECT_NAMING,
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
  name: 'removals',
  words: ['removal'],
  one: 'held removal',
  what: 'what a guard holds back until a person approves it',
  naming: `the digest or its beginning, ${OBJECT_NAMING}`,
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
  name: 'diagnostics',
  words: ['diagnostic', 'diag'],
  what: 'findings about the files of the sources',
  naming: 'the code or the reason',
  columns: DIAGNOSTIC_COLUMNS,
  ask: (api) => api.list('diagnostics'),
  nameOf: ({ code }) => code,
  idOf: ({ code, at, message }: Diagnostic) => `${code} ${at === undefined ? '' : displayLocation(at)} ${message}`,
  isNamed: ({ code, reason }, word) => [code, reason].some((text) => text.toLowerCase() === word.toLowerCase()),
});

const DRIFT = listedKind<JsonObject>({
  name: 'drift',
  words: ['drifts'],
  one: 'drift',
  what: 'what others have changed or removed of applied objects',
  naming: OBJECT_NAMING,
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

const SHORTEST_DIGEST = 8;

/** The kinds of the core. */
export const CORE_KINDS: readonly ListedKind[] = [CLUSTERS, OUTPUTS, SOURCES, REMOVALS, DIAGNOSTICS, DRIFT];
