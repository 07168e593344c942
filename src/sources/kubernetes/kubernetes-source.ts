import type { Digest, SourceName } from '../../model/fleet/ids.ts';
import { defaultRevisionLimits, type RevisionLimits } from '../../model/limits/revision-limits.ts';
import type { ObjectKey } from '../../model/objects/object-key.ts';
import { sha256 } from '../../model/text/digest.ts';
import type { JsonObject } from '../../model/text/json.ts';
import { errorText } from '../../model/text/messages.ts';
import { type BucketedMap, createBucketedMap } from '../../model/values/bucketed-map.ts';
import type { Clock } from '../../ports/clock.ts';
import type { CustomResource, CustomResourceKindState, CustomResources } from '../../ports/custom-resources.ts';
import type { TreeChange } from '../../ports/git-repo.ts';
import type { Log } from '../../ports/log.ts';
import type { Source } from '../../ports/source.ts';
import { createRevisionCheck, type Refusal, type RevisionCheck } from '../tree/revision-check.ts';
import type { DecodeFile, ReadTreeFile } from '../tree/tree-file.ts';
import { readTree } from '../tree/tree-reader.ts';
import { createGatherer } from './gatherer.ts';
import { createMassDeletionWatch, type MassDeletionWatch } from './mass-deletion.ts';
import { displayKind, kindPath, resourceOfPath, resourcePath } from './resource-path.ts';
import { resourceText } from './resource-text.ts';

/** A source whose files are custom resources. */
export interface KubernetesSource extends Source {
  /** The custom resources as they have entered, by path. One map, which changes. */
  entered(): ReadonlyMap<string, CustomResource>;
  /** `looked` is called after each look, with the custom resources that have entered or changed (a change of status counts). */
  watch(looked: (keys: Iterable<ObjectKey>) => void): void;
}

export interface KubernetesSourceOptions {
  readonly name: SourceName;
  /** API server and namespaces, for people. */
  readonly address: string;
  /** The defaults unless set. */
  readonly limits?: RevisionLimits;
}

interface SourceDeps {
  readonly resources: CustomResources;
  readonly decode: DecodeFile;
  readonly clock: Clock;
  readonly log: Log;
}

interface State {
  readonly deps: SourceDeps;
  readonly check: RevisionCheck;
  readonly limits: RevisionLimits;
  readonly watch: MassDeletionWatch;
  /** Custom resources that have changed since the last look. */
  readonly dirty: Set<ObjectKey>;
  /** By path. */
  readonly entered: Map<string, CustomResource>;
  /** Changes that were looked at and have not entered yet, because they are refused or a kind is unknown; null: removed. */
  readonly ahead: Map<ObjectKey, CustomResource | null>;
  /** Paths and digests of the files of `entered` and `ahead` together. */
  content: BucketedMap<string, Digest>;
  /** The kinds of the last look. */
  kinds: readonly CustomResourceKindState[];
  hasEntered: boolean;
  looked: (keys: Iterable<ObjectKey>) => void;
  /** Causes a look after a while, because this one has failed. */
  retry: () => void;
}

const RETRY_MS = 30_000;
const MAX_RESOURCE_BYTES = 16 * 1024 * 1024;

/**
 * Follows the custom resources of a cluster. Each is one file, and so is each kind that cannot be listed: an unreadable
 * file, so that the source is partial and removes nothing. A resource that is being deleted counts until it is gone, because
 * the controllers of its finalizers still work with it. Removals of a complete kind wait for a person. A look costs what has
 * changed, except while removals are judged.
 */
export function createKubernetesSource(deps: SourceDeps, options: KubernetesSourceOptions): KubernetesSource {
  const { name, address, limits = defaultRevisionLimits } = options;
  const log = deps.log.child({ source: name });
  const describe = (revision: string): string => `custom resources of ${address} with content ${revision.slice(0, 12)}`;
  const check = createRevisionCheck(log, name, describe);
  const state: State = {
    deps: { ...deps, log },
    check,
    limits,
    watch: createMassDeletionWatch(),
    dirty: new Set(),
    entered: new Map(),
    ahead: new Map(),
    content: createBucketedMap([], (digest: Digest) => digest),
    kinds: [],
    hasEntered: false,
    looked: () => undefined,
    retry: () => undefined,
  };
  const gatherer = createGatherer(deps.clock, () => look(state));
  let cancelRetry = (): void => undefined;
  state.retry = () => {
    cancelRetry();
    cancelRetry = deps.clock.schedule(RETRY_MS, gatherer.changed);
  };
  return {
    name,
    address,
    start(listener, admitted, remembered) {
      check.start(listener, admitted);
      state.watch.recall(remembered.flatMap((path) => resourceOfPath(path) ?? []));
      deps.resources.start((key) => {
        if (key !== undefined) state.dirty.add(key);
        gatherer.changed();
      });
      for (const key of deps.resources.state().objects.keys()) state.dirty.add(key);
    },
    trigger: gatherer.changed,
    accept(revision) {
      if (state.content.digest() !== revision || !check.accept(revision)) return false;
      state.looked(enter(state));
      return true;
    },
    read: async (path, blob) => {
      const key = resourceOfPath(path);
      const found = [state.entered.get(path), key && state.ahead.get(key)].flatMap((one) => (one ? [textOf(one)] : []));
      return found.find((text) => text.blob === blob)?.bytes;
    },
    entered: () => state.entered,
    watch(looked) {
      state.looked = looked;
    },
    async stop() {
      cancelRetry();
      gatherer.stop();
      await deps.resources.stop();
    },
  };
}

/** Takes over what has changed since the last look, and lets it enter the source's tree if all kinds are known. */
async function look(state: State): Promise<void> {
  const { dirty, ahead, watch, check } = state;
  const { objects, kinds } = state.deps.resources.state();
  const changed = new Set<ObjectKey>();
  try {
    for (const key of dirty) {
      const resource = objects.get(key);
      const path = resourcePath(key);
      const file = resource === undefined ? [] : [[path, textOf(resource).blob] as const];
      state.content = state.content.with(file, [path]);
      ahead.set(key, resource ?? null);
      dirty.delete(key);
      changed.add(key);
    }
    state.kinds = kinds;
    watch.note(kinds);
    if (kinds.every((kind) => kind.state !== 'pending')) for (const key of await takeIn(state)) changed.add(key);
  } catch (error) {
    const message = errorText(error);
    state.deps.log.error('custom resources could not be taken in', { detail: message });
    check.failing('ReadFailed', message);
    state.retry();
  }
  state.looked(changed);
}

/** Lets the resources enter, or reports why they do not. Returns those that have entered. */
async function takeIn(state: State): Promise<readonly ObjectKey[]> {
  const { check, kinds } = state;
  const unknown = kinds.filter((kind) => kind.state === 'unknown');
  const problem = problemOf(unknown);
  if (unknown.length === kinds.length) {
    // As if a repository could not be reached: the resources that have entered stay, complete or partial as they were.
    check.failing('CustomResourcesUnknown', problem);
    return [];
  }
  const paths = unknown.map(({ kind }) => kindPath(kind));
  const entered = await tryToEnter(state, paths);
  if (entered === undefined) return [];
  check.found(state.content.digest());
  if (unknown.length === 0) return entered;
  const message = `${problem}. What was read takes effect; this source removes nothing until all its kinds are read`;
  check.failing('KindsUnknown', message);
  return entered;
}

/** Kinds with the same message share one sentence. */
function problemOf(unknown: readonly CustomResourceKindState[]): string {
  const byMessage = Map.groupBy(unknown, ({ message }) => message);
  return [...byMessage]
    .map(([message, kinds]) => `${kinds.map(({ kind }) => displayKind(kind)).join(', ')}: ${message}`)
    .join('; ');
}

/** Undefined: the revision is refused, and waits for a person or for a smaller one. */
async function tryToEnter(state: State, unknown: readonly string[]): Promise<readonly ObjectKey[] | undefined> {
  const { check, content, ahead, deps, limits } = state;
  if (check.state.exceeding?.revision === content.digest()) {
    check.found(content.digest());
    return undefined;
  }
  const { tree: before, waiting } = check.state;
  const changes = changesTo(state, unknown);
  if (changes.length === 0 && state.hasEntered) return enter(state);
  const byPath = new Map([...ahead].map(([key, resource]) => [resourcePath(key), resource && textOf(resource)]));
  const read: ReadTreeFile = async (path) =>
    byPath.get(path) ?? { reason: 'stands for a kind that cannot be listed just now' };
  const turn = (): Promise<void> => deps.clock.sleep(0);
  const spare = waiting?.read.tree;
  const reading = { decode: deps.decode, read, maxFileBytes: MAX_RESOURCE_BYTES, limits, spare, turn };
  const found = await readTree(reading, before, changes);
  if ('excess' in found) {
    check.exceed({ revision: content.digest(), excess: found.excess });
    return undefined;
  }
  const revision = { revision: content.digest(), ...found };
  const refusal = refusalOf(state, unknown);
  const isTaken = refusal === undefined ? check.admit(revision) : check.refuse(revision, refusal);
  // A person has accepted another revision meanwhile.
  if (!isTaken) return tryToEnter(state, unknown);
  return refusal === undefined ? enter(state) : undefined;
}

function enter(state: State): readonly ObjectKey[] {
  const { ahead, entered, watch, kinds } = state;
  for (const [key, resource] of ahead) {
    if (resource === null) entered.delete(resourcePath(key));
    else entered.set(resourcePath(key), resource);
  }
  const keys = [...ahead.keys()];
  ahead.clear();
  state.hasEntered = true;
  watch.entered(kinds);
  return keys;
}

function refusalOf({ entered, ahead, hasEntered, check, watch, kinds, content }: State, unknown: readonly string[]) {
  const before = (): readonly ObjectKey[] => [...entered.values()].map(({ key }) => key);
  const after = (): readonly ObjectKey[] => [
    ...before().filter((key) => ahead.get(key) === undefined),
    ...[...ahead.values()].flatMap((resource) => (resource === null ? [] : [resource.key])),
  ];
  const isRemoving = [...ahead.values()].includes(null);
  const judged = watch.judge({ before, after, isRemoving, kinds });
  if (judged !== undefined || hasEntered) return judged;
  const { admitted } = check.state;
  // An earlier process has admitted resources, unless what it admitted was this same empty content.
  const hadAny = admitted !== undefined && admitted !== content.digest();
  const refusal: Refusal = { reason: 'AllDeleted', message: 'all custom resources are gone' };
  return hadAny && unknown.length === 0 && after().length === 0 ? refusal : undefined;
}

function changesTo({ check, ahead, kinds }: State, unknown: readonly string[]): readonly TreeChange[] {
  const { nodes } = check.state.tree;
  const files = new Map<string, { readonly blob: Digest; readonly size: number } | null>();
  for (const [key, resource] of ahead) {
    const text = resource && textOf(resource);
    files.set(resourcePath(key), text && { blob: text.blob, size: text.bytes.length });
  }
  for (const path of kinds.map(({ kind }) => kindPath(kind))) {
    files.set(path, unknown.includes(path) ? { blob: sha256(path), size: 0 } : null);
  }
  return [...files]
    .filter(([path, file]) => nodes.get(path)?.entry.blob !== file?.blob)
    .map(([path, file]) => ({ path, entry: file && { kind: 'file', ...file } }));
}

interface Text {
  readonly blob: Digest;
  readonly bytes: Uint8Array;
}

const texts = new WeakMap<JsonObject, Text>();

/** The file of a resource. A value that is the same object as before is not printed again. */
function textOf({ value }: CustomResource): Text {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const bytes = resourceText(value);
  const text = { bytes, blob: sha256(bytes) };
  texts.set(value, text);
  return text;
}
