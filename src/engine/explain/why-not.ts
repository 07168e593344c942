import { displayObjectName, isNameOf, namedAmong, type ObjectName } from '../../model/fleet/explain-query.ts';
import type { SourceName } from '../../model/fleet/ids.ts';
import { isBuiltInWord, isKindWord } from '../../model/objects/kinds.ts';
import { displayKey, type ObjectKey, objectKey, objectRefOf } from '../../model/objects/object-key.ts';
import { compareText } from '../../model/text/json.ts';
import { suggestion } from '../../model/text/messages.ts';
import type { ValueRef, WhyNotReason } from '../domain.ts';
import { clusterHint } from '../fleet/clusters.ts';
import { isSameOrigin } from '../fleet/elect.ts';
import { type DocumentRef, type DocumentValue, documentRefOf } from '../fleet/sources.ts';
import type { Engine } from '../graph.ts';
import { routesTo } from '../placement/assignments.ts';
import type { Progress } from '../status/progress.ts';
import { notSelected } from './not-selected.ts';
import { clustersWith, findDeclaration, findObject } from './object-name.ts';

export interface WhyNot {
  /** Undefined: the cluster is to have no object of the name. */
  readonly key: ObjectKey | undefined;
  /** The cluster has it as it is declared. */
  readonly isThere: boolean;
  /** The most important first. */
  readonly reasons: readonly WhyNotReason[];
}

/** Most documents of a name that are judged, and names that are compared. */
const MOST_DOCUMENTS = 10;
const MOST_COMPARED = 20_000;
const NAMED = 3;

/** Finds out why an object is not in a cluster. Works also for one that exists nowhere. */
export function whyNot(
  engine: Engine,
  cluster: string,
  name: ObjectName,
): WhyNot | { readonly among: readonly string[] } {
  if (engine.clusters.get('', cluster) === undefined) {
    const { hint } = clusterHint(cluster, engine.clusters);
    const message = `no KubernetesCluster ${cluster} is declared${hint === undefined ? '' : `; ${hint}`}`;
    const todo = 'declare the cluster, or name another one';
    return { key: undefined, isThere: false, reasons: [{ reason: 'UnknownCluster', message, todo }] };
  }
  const found = findObject(engine, cluster, name);
  if (found.type === 'ambiguous') return { among: found.names };
  if (found.type === 'found') return ofOutput(engine, cluster, found.key);
  const documents = documentsNamed(engine, name);
  const reasons =
    documents.length > 0
      ? documents.flatMap((document) => ofDocument(engine, cluster, document))
      : [...unreadable(engine, cluster), ...ofAbsent(engine, cluster, name)];
  return { key: undefined, isThere: false, reasons };
}

/** The object is among the outputs of the cluster. */
function ofOutput(engine: Engine, cluster: string, key: ObjectKey): WhyNot {
  const progress = engine.progress.get(cluster, key);
  const output = engine.outputs.get(cluster, key);
  const declared = (engine.candidates.get(cluster, key) ?? []).map(({ from }) => documentRefOf(from));
  const winner = output !== undefined && 'origins' in output ? output.origins[0] : undefined;
  const at = declared.find((each) => isSameOrigin(each, winner)) ?? declared[0];
  const losers = declared.filter((each) => each !== at);
  const twice = losers.map((loser): WhyNotReason => {
    const message = `${displayKey(key)} is declared here too, and ${at?.path ?? 'another file'} counts`;
    return { reason: 'DeclaredTwice', message, at: loser, todo: 'delete one of the two declarations' };
  });
  if (progress === undefined) return { key, isThere: false, reasons: [...left(cluster), ...twice] };
  const own = ofProgress(engine, cluster, key, progress);
  const place = at === undefined ? {} : { at };
  return { key, isThere: progress.state === 'applied', reasons: [{ ...own, ...place }, ...twice] };
}

function left(cluster: string): readonly WhyNotReason[] {
  const message = `cluster ${cluster} is not registered any more, so nothing is sent to it`;
  return [{ reason: 'Left', message, todo: 'declare the cluster again' }];
}

function ofProgress(
  engine: Engine,
  cluster: string,
  key: ObjectKey,
  { state, reason, message, isRemoval }: Progress,
): WhyNotReason {
  const entry = engine.inputs.ledger.get(cluster, key);
  const object = displayKey(key);
  switch (state) {
    case 'applied':
      return { reason: 'Applied', message: `${object} is in ${cluster} as it is declared`, todo: '' };
    case 'failed':
      return rejected(
        `the agent could not ${isRemoval ? 'remove' : 'apply'} it`,
        reason,
        message,
        'correct the manifest, or what the message names',
      );
    case 'conflict':
      return rejected(
        'another owner has the object in the cluster',
        reason,
        message,
        'rename one of the two, or let fleetrelay adopt it',
      );
    case 'paused':
      // The message says why, and what ends it.
      return rejected('the agent leaves it as it is', reason, message, '');
    case 'held':
    case 'kept': {
      const isAbsent = engine.outputs.get(cluster, key)?.type === 'absent';
      const stays = isAbsent ? 'it is held and not sent' : 'it stays as it is';
      const todo =
        engine.inputs.heldRemovals.get(cluster, key) === undefined
          ? ''
          : '`fleetrelay approve --list` shows what can be released';
      return { reason: reason || 'Held', message: `${stays}: ${message}`, todo };
    }
    case 'removing':
      if (engine.pending.get(cluster, key) !== undefined)
        return { reason: 'NotSent', message: 'its removal is decided, and not sent yet', todo: '' };
      return { reason: 'Removing', message: `it is being removed${message === '' ? '' : `: ${message}`}`, todo: '' };
    case 'unreachable':
    case 'pending':
      if (entry?.phase === 'inFlight')
        return { reason: 'InFlight', message: 'it was sent, and the agent has not accepted it yet', todo: '' };
      if (entry?.phase === 'accepted' && engine.pending.get(cluster, key) === undefined)
        return {
          reason: 'NotReported',
          message: 'the agent has accepted it, and has not reported a result yet',
          todo: '',
        };
      return { reason: 'NotSent', message: 'it is decided, and not sent yet', todo: '' };
  }
}

function rejected(what: string, reason: string, message: string, todo: string): WhyNotReason {
  return { reason: reason === '' ? 'Failed' : reason, message: message === '' ? what : `${what}: ${message}`, todo };
}

interface NamedDocument extends DocumentRef {
  readonly value: DocumentValue;
  readonly partition: string;
  readonly key: string;
}

/** The documents that declare an object of this name. */
function documentsNamed({ documents }: Engine, name: ObjectName): readonly NamedDocument[] {
  const all: NamedDocument[] = [];
  for (const source of documents.partitions()) {
    for (const { key, value } of documents.entries(source)) {
      if (value.content.type !== 'object') continue;
      const { ref } = value.content;
      const settled = ref.namespace === '' ? { ...ref, namespace: 'default' } : ref;
      if (!isNameOf(name, ref) && !isNameOf(name, settled)) continue;
      all.push({ ...documentRefOf({ partition: source, key }), value, partition: source, key });
    }
  }
  return namedAmong(
    all,
    ({ value: { content } }) => (content.type === 'object' ? displayKey(objectKey(content.ref)) : ''),
    name,
  ).slice(0, MOST_DOCUMENTS);
}

function ofDocument(engine: Engine, cluster: string, document: NamedDocument): readonly WhyNotReason[] {
  const { value, partition, key, ...rest } = document;
  const at: DocumentRef = { source: rest.source, path: rest.path, identity: rest.identity };
  const refusal = value.refusal ?? refusedWant(engine, document);
  if (refusal !== undefined) {
    const place = refusal.field === undefined ? at : { ...at, field: refusal.field };
    const todo = 'allow it in the RelayConfig (sources[].allow), or take it out of the file';
    return [{ reason: 'NotAllowed', message: refusal.message, at: place, todo }];
  }
  const assignment = engine.assignments.get(partition, key);
  if (assignment?.clusters.includes(cluster) !== true) return notSelected(engine, cluster, at);
  const message = `it is selected for ${cluster}, and could not be computed: the log of the server says why`;
  return [{ reason: 'NotComputed', message, at, todo: 'report it with `fleetrelay debug snapshot`' }];
}

function refusedWant({ indexes }: Engine, { partition, key }: NamedDocument): DocumentValue['refusal'] {
  return indexes.refusedWants.members(partition).find((want) => want.key === key || want.key.startsWith(`${key}\u0000`))
    ?.value.refusal;
}

/**
 * Files that cannot be read could declare it, and so could files of other tools that a rule places in the cluster, or that the ledger
 * has something from. Those that a rule places come first.
 */
function unreadable(engine: Engine, cluster: string): readonly WhyNotReason[] {
  const { inputs, sourceProofs, doubtfulFiles, placementIndexes } = engine;
  return [...sourceProofs.entries('')].flatMap(({ key, value: proof }): readonly WhyNotReason[] => {
    const source = key as SourceName;
    if (proof === 'unread') {
      const todo = '`fleetrelay get sources` shows why';
      return [{ reason: 'SourceNotRead', message: `source ${source} has not been read yet`, todo }];
    }
    const isPlaced = (path: string): boolean => routesTo(cluster, { source, path }, placementIndexes).length > 0;
    const inDoubt = [...inputs.files.entries(source)]
      .filter(({ value: { readable, notRead } }) => !readable || notRead !== undefined)
      .map((file) => ({ ...file, isPlaced: isPlaced(file.key) }))
      .filter((file) => file.isPlaced || doubtfulFiles.get(source, file.key) === true);
    return inDoubt
      .toSorted((a, b) => Number(b.isPlaced) - Number(a.isPlaced) || compareText(a.key, b.key))
      .slice(0, NAMED)
      .map(({ key: path, value: { notRead } }): WhyNotReason => {
        const at = { source, path, identity: '' } as ValueRef;
        const why = notRead === undefined ? 'cannot be read now, and may declare it' : `may declare it: ${notRead}`;
        const todo = '`fleetrelay get diagnostics` says what is wrong with the file';
        return { reason: 'Unreadable', message: `this file ${why}`, at, todo };
      });
  });
}

function ofAbsent(engine: Engine, cluster: string, name: ObjectName): readonly WhyNotReason[] {
  const derived = engine.domains.flatMap(({ report: { shows } }) => shows?.explainsAbsence?.(cluster, name) ?? []);
  return derived.length > 0 ? derived : [ofEngineKind(engine, name) ?? ofNothing(engine, cluster, name)];
}

/** It is of a kind that the engine reads and never sends. Undefined: the name means none. */
function ofEngineKind(engine: Engine, name: ObjectName): WhyNotReason | undefined {
  const found = findDeclaration(engine, name);
  if (found.type === 'none' && found.kinds.length === 0) return undefined;
  const written = displayObjectName(name);
  const message = `${written} is of a kind that the engine reads, which lies in no cluster`;
  if (found.type === 'ambiguous') {
    return { reason: 'EngineKind', message, todo: `ask for one of ${found.names.slice(0, NAMED).join(', ')}` };
  }
  if (found.type === 'found') {
    const todo = `\`fleetrelay explain ${found.display}\` shows what it does`;
    return { reason: 'EngineKind', message, todo };
  }
  const near = suggestion(written, found.known);
  const hint = near === undefined ? '' : `; did you mean ${near}?`;
  const missing = `${message}, and no source declares it${hint}`;
  return { reason: 'EngineKind', message: missing, todo: 'declare it, or correct the name' };
}

/** Nothing declares it. */
function ofNothing(engine: Engine, cluster: string, name: ObjectName): WhyNotReason {
  const elsewhere = clustersWith(engine, name).filter((each) => each !== cluster);
  if (elsewhere.length > 0) {
    const message = `no document declares it: it is made from live state, and cluster ${elsewhere.slice(0, NAMED).join(', ')} has it`;
    return {
      reason: 'NotDerived',
      message,
      todo: `\`fleetrelay explain ${elsewhere[0]}\` with its name shows the rule`,
    };
  }
  const names = namesOfKind(engine, name);
  const near = suggestion(name.name, [...names.keys()]);
  if (near !== undefined && near !== name.name) {
    return {
      reason: 'NotDeclared',
      message: `no file declares it; did you mean ${names.get(near)}?`,
      todo: 'correct the name',
    };
  }
  const inOther = names.get(name.name);
  if (inOther !== undefined) {
    return {
      reason: 'NotDeclared',
      message: `no file declares it in this namespace; there is ${inOther}`,
      todo: 'correct the namespace',
    };
  }
  if (names.size === 0 && !isKnownKind(engine, cluster, name.kind)) {
    const message = `no file declares an object of kind ${name.kind}, and cluster ${cluster} lists no such kind`;
    return { reason: 'UnknownKind', message, todo: 'correct the kind, or write it as KIND.GROUP' };
  }
  return {
    reason: 'NotDeclared',
    message: 'no file of any source declares it',
    todo: 'add its manifest to the repository',
  };
}

/** Declared names of the kind, each with one object that has it. */
function namesOfKind({ documents }: Engine, { kind }: ObjectName): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const source of documents.partitions()) {
    for (const { value } of documents.entries(source)) {
      if (value.content.type !== 'object' || names.size >= MOST_COMPARED) continue;
      const { ref } = value.content;
      if (isKindWord(kind, ref)) names.set(ref.name, displayKey(objectKey(ref)));
    }
  }
  return names;
}

function isKnownKind({ inputs: { kinds } }: Engine, cluster: string, word: string): boolean {
  const isListed = [...kinds.entries(cluster)].some(({ key }) =>
    isKindWord(word, objectRefOf(`${key}//x` as ObjectKey)),
  );
  return isListed || isBuiltInWord(word);
}
