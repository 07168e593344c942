import { domains } from '../domains/domains.ts';
import type { Api } from './api.ts';
import type { ApiOptions } from './api-options.ts';
import type { CliContext } from './cli-context.ts';
import { wantedBy } from './lists/wanted.ts';

/** The longest wait for the server, in seconds: a shell that completes must not hang. */
const DEADLINE_SECONDS = 0.5;
/** The most names that are offered. */
const MOST = 1_000;

/** A shell puts the name into the command line as it is: people choose names of objects, and agents what they report. */
const HARMLESS = /^\w[\w.:@/=+,-]*$/;

/** Asks for the names that can stand at one place; `before` are the words of the command before it. */
type Names = (api: Api, before: readonly string[]) => Promise<readonly string[]>;

const clusters: Names = async (api) => (await api.list('clusters')).map(({ name }) => name);
const sources: Names = async (api) => (await api.list('sources')).map(({ name }) => name);
/** The objects of the cluster that is named first. */
const objects: Names = async (api, [cluster]) => (await api.list('outputs', { cluster })).map(({ object }) => object);
const waiting: Names = async (api, [source]) =>
  (await api.list('sources')).flatMap(({ name, refusedRevision }) =>
    name === source && refusedRevision !== null ? [refusedRevision] : [],
  );
const digests: Names = async (api) => (await api.list('removals')).map(({ digest }) => digest);
const listed =
  (kind: string): Names =>
  (api) =>
    namesOfKind(api, [kind]);

/** What stands at the places of commands, by the words of the command. The last one stands for all places after it, too. */
export const PLACES: Readonly<Record<string, readonly Names[]>> = {
  get: [async () => [], namesOfKind],
  history: [clusters, objects],
  explain: [clusters, objects],
  approve: [digests],
  'source sync': [sources],
  'source accept': [sources, waiting],
  'source suspend': [sources],
  'source resume': [sources],
  ...Object.fromEntries(
    ['deregister', 'adopt', 'token', 'accept', 'revoke', 'replace', 'reset-position', 'suspend', 'resume'].map(
      (verb) => [`cluster ${verb}`, [clusters]],
    ),
  ),
  'cluster retry': [clusters, objects],
  ...Object.fromEntries(
    domains
      .flatMap(({ cli }) => cli?.commands ?? [])
      .flatMap(({ name, names = {} }) =>
        Object.entries(names).map(([verb, list]) => [`${name} ${verb}`, [listed(list)]] as const),
      ),
  ),
};

/** The options whose value is a name that the server knows. */
const OPTIONS: Readonly<Record<string, Names>> = { '--cluster': clusters, '--source': sources };

/** The place whose names are wanted. */
export interface NamePlace {
  /** The words of the command, without those after it. */
  readonly command: string;
  /** The words before the place that are no options. */
  readonly before: readonly string[];
  /** The option whose value is wanted; absent: an argument of the command. */
  readonly option?: string | undefined;
  /** The options of the API, as they were typed. */
  readonly api: ApiOptions;
}

/** The names that the server knows for a place, sorted; none if it does not answer at once. */
export async function namesAt(
  context: CliContext,
  { command, before, option, api }: NamePlace,
): Promise<readonly string[]> {
  const places = PLACES[command] ?? [];
  const names =
    option === undefined ? (places[before.length] ?? (command === 'get' ? places.at(-1) : undefined)) : OPTIONS[option];
  if (names === undefined) return [];
  try {
    const { connect } = await import('./api.ts');
    const silent = { ...context, stderr: { ...context.stderr, write: () => undefined } };
    const found = await names(await connect(silent, api, context.completionSeconds ?? DEADLINE_SECONDS), before);
    return [...new Set(found)]
      .filter((name) => HARMLESS.test(name))
      .sort()
      .slice(0, MOST);
  } catch {
    // No server, no right to ask it, or a wrong word before: there is nothing to offer.
    return [];
  }
}

/** The names of a kind, without the kind before them. */
async function namesOfKind(api: Api, [first = '']: readonly string[]): Promise<readonly string[]> {
  const { kind, words } = wantedBy(first, []);
  const names = (await kind.ask(api, {}, words, true)).map(({ name }) => name);
  // After a kind of Kubernetes an object is named by its name alone.
  if (words.length > 0) return names.map((name) => name.slice(name.lastIndexOf('/') + 1));
  const [singular] = kind.words;
  return names.map((name) => (name.startsWith(`${singular}/`) ? name.slice(singular.length + 1) : name));
}
