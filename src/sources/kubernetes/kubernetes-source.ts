import { sha256, snapshotDigest } from '../../model/digest.ts';
import type { Digest, SourceName } from '../../model/ids.ts';
import type { JsonObject } from '../../model/json.ts';
import { errorText } from '../../model/messages.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CustomResource, CustomResourceState, CustomResources } from '../../ports/custom-resources.ts';
import type { Log } from '../../ports/log.ts';
import type { Source } from '../../ports/source.ts';
import { createRevisionCheck, type Refusal, type RevisionCheck } from '../tree/revision-check.ts';
import { changesTo, type DecodeFile, type ReadTreeFile, readTree, type TreeEntry } from '../tree/tree-reader.ts';
import { createGatherer, type Gatherer } from './gatherer.ts';
import { createMassDeletionWatch, type MassDeletionWatch } from './mass-deletion.ts';
import { displayKind, kindPath, resourceOfPath, resourcePath } from './resource-path.ts';
import { resourceText } from './resource-text.ts';

/** A source whose files are custom resources. */
export interface KubernetesSource extends Source {
  /** The custom resources as they have entered, by path. */
  entered(): ReadonlyMap<string, CustomResource>;
  /** `looked` is called after each look at the custom resources: more may have changed of them than what is declared. */
  watch(looked: () => void): void;
}

export interface KubernetesSourceOptions {
  readonly name: SourceName;
  /** API server and namespaces, for people. */
  readonly address: string;
}

interface SourceDeps {
  readonly resources: CustomResources;
  readonly decode: DecodeFile;
  readonly clock: Clock;
  readonly log: Log;
}

interface Text {
  readonly blob: Digest;
  readonly bytes: Uint8Array;
}

/** What the API server holds just now, as a tree of files. */
interface Tree {
  readonly state: CustomResourceState;
  readonly revision: string;
  readonly resources: ReadonlyMap<string, CustomResource>;
  readonly texts: ReadonlyMap<string, Text>;
  /** Files that stand for kinds which cannot be listed, with their blobs. */
  readonly unknown: ReadonlyMap<string, Digest>;
}

interface Following {
  readonly deps: SourceDeps;
  readonly check: RevisionCheck;
  readonly watch: MassDeletionWatch;
  readonly gatherer: Gatherer;
  /** As they have entered. */
  entered: Tree | undefined;
  /** As the last look found them; waits if it did not enter. */
  latest: Tree | undefined;
  looked: () => void;
}

const MAX_RESOURCE_BYTES = 16 * 1024 * 1024;

/**
 * Follows the custom resources of a cluster. Each is one file, and so is each kind that cannot be listed: one that
 * cannot be read, so that the source is partial and removes nothing. A resource that is being deleted counts until it is
 * gone: whoever put a finalizer there has work to do with it still. Resources that vanish as a whole kind wait for a
 * person.
 */
export function createKubernetesSource(deps: SourceDeps, options: KubernetesSourceOptions): KubernetesSource {
  const { name, address } = options;
  const log = deps.log.child({ source: name });
  const describe = (revision: string): string => `custom resources of ${address} with content ${revision.slice(0, 12)}`;
  const following: Following = {
    deps: { ...deps, log },
    check: createRevisionCheck({ name, describe }),
    watch: createMassDeletionWatch(),
    gatherer: createGatherer(deps.clock, async () => {
      await lookOnce(following);
      following.looked();
    }),
    looked: () => undefined,
    entered: undefined,
    latest: undefined,
  };
  const { check, gatherer } = following;
  return {
    name,
    address,
    start: (listener, admitted, remembered) => {
      check.start(listener, admitted);
      following.watch.recall(remembered.flatMap((path) => resourceOfPath(path) ?? []));
      deps.resources.start(gatherer.changed);
    },
    trigger: gatherer.changed,
    accept: (revision) => {
      const { latest } = following;
      if (latest?.revision !== revision || !check.accept(revision)) return false;
      haveEntered(following, latest);
      return true;
    },
    read: async (path, blob) =>
      [following.entered, following.latest].map((tree) => tree?.texts.get(path)).find((text) => text?.blob === blob)
        ?.bytes,
    entered: () => following.entered?.resources ?? new Map(),
    watch: (looked) => {
      following.looked = looked;
    },
    stop: async () => {
      gatherer.stop();
      await deps.resources.stop();
    },
  };
}

async function lookOnce(following: Following): Promise<void> {
  const { check, watch, deps } = following;
  const state = deps.resources.state();
  watch.note(state);
  if (state.kinds.some((kind) => kind.state === 'pending')) return;
  const unknown = state.kinds.filter((kind) => kind.state === 'unknown');
  const trouble = troubleOf(unknown);
  if (unknown.length === state.kinds.length) {
    // As if the repository could not be reached: what has entered holds, and stays as whole as it was.
    check.failing('CustomResourcesUnknown', trouble);
    return;
  }
  try {
    const outcome = await takeIn(following, treeOf(state));
    if (outcome === 'refused' || unknown.length === 0) return;
    const message = `${trouble}. What was read takes effect; this source removes nothing until all its kinds are read`;
    check.failing('KindsUnknown', message);
  } catch (error) {
    const message = errorText(error);
    deps.log.error('custom resources could not be taken in', { detail: message });
    check.failing('ReadFailed', message);
  }
}

/** Kinds with the same trouble share one sentence. */
function troubleOf(unknown: CustomResourceState['kinds']): string {
  const kindsOf = new Map<string, string[]>();
  for (const { kind, message } of unknown) {
    kindsOf.set(message, [...(kindsOf.get(message) ?? []), displayKind(kind)]);
  }
  return [...kindsOf].map(([message, kinds]) => `${kinds.join(', ')}: ${message}`).join('; ');
}

async function takeIn(following: Following, tree: Tree): Promise<'entered' | 'refused'> {
  const { check, watch, entered, deps } = following;
  following.latest = tree;
  const { tree: before, waiting } = check.state;
  const changes = changesTo(before, entriesOf(tree));
  if (changes.length === 0 && entered !== undefined) {
    following.entered = tree;
    watch.entered(tree.state);
    check.found(tree.revision);
    return 'entered';
  }
  const { decode } = deps;
  const reading = { decode, read: readerOf(tree), maxFileBytes: MAX_RESOURCE_BYTES, spare: waiting?.read.tree };
  const read = { revision: tree.revision, ...(await readTree(reading, before, changes)) };
  // A person may have accepted another revision meanwhile.
  if (check.state.tree !== before) return takeIn(following, tree);
  const refusal = refusalOf(following, tree);
  if (refusal !== undefined) {
    // Also if this revision waits already: kinds may have come back since.
    check.refuse(read, refusal);
    return 'refused';
  }
  check.admit(read);
  haveEntered(following, tree);
  check.found(tree.revision);
  return 'entered';
}

function haveEntered(following: Following, tree: Tree): void {
  following.entered = tree;
  following.watch.entered(tree.state);
}

function refusalOf({ entered, check, watch }: Following, { state, revision, unknown }: Tree): Refusal | undefined {
  const judged = watch.judge(new Set(entered?.state.objects.keys()), state);
  if (judged !== undefined || entered !== undefined) return judged;
  const { admitted } = check.state;
  // An earlier process has seen something, unless what it admitted was this very nothing.
  const hadAny = admitted !== undefined && admitted !== revision;
  return hadAny && state.objects.size === 0 && unknown.size === 0
    ? { reason: 'AllDeleted', message: 'all custom resources are gone' }
    : undefined;
}

function treeOf(state: CustomResourceState): Tree {
  const resources = new Map([...state.objects.values()].map((resource) => [resourcePath(resource.key), resource]));
  const texts = new Map([...resources].map(([path, { value }]) => [path, textOf(value)]));
  const kinds = state.kinds.filter((kind) => kind.state === 'unknown').map(({ kind }) => kindPath(kind));
  const unknown = new Map(kinds.map((path) => [path, sha256(path)]));
  const revision = snapshotDigest([...texts].map(([path, { blob }]) => [path, blob] as const));
  return { state, revision, resources, texts, unknown };
}

function entriesOf({ texts, unknown }: Tree): ReadonlyMap<string, TreeEntry> {
  const entries = new Map<string, TreeEntry>();
  for (const [path, { blob, bytes }] of texts) entries.set(path, { kind: 'file', blob, size: bytes.length });
  for (const [path, blob] of unknown) entries.set(path, { kind: 'file', blob, size: 0 });
  return entries;
}

function readerOf({ texts }: Tree): ReadTreeFile {
  return async (path) => {
    const text = texts.get(path);
    return text === undefined ? { reason: 'stands for a kind that cannot be listed just now' } : { bytes: text.bytes };
  };
}

const known = new WeakMap<JsonObject, Text>();

/** Of a value that is still the same one, as it was printed. */
function textOf(value: JsonObject): Text {
  const before = known.get(value);
  if (before !== undefined) return before;
  const bytes = resourceText(value);
  const text = { bytes, blob: sha256(bytes) };
  known.set(value, text);
  return text;
}
