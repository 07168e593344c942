import { isJsonObject, type JsonObject, objectOf } from '../../../model/text/json.ts';
import { type HeadContent, type Holder, readHolder, renderHead, withHolder } from './head.ts';
import { configMap, configMapPath, HEAD_NAME, listPieces } from './pieces.ts';
import { answerText, isPassing, type Requests } from './requests.ts';

/** Another process writes the inventory now; this one never does again. */
export class Overtaken extends Error {}

export interface HeadWriterOptions {
  readonly namespace: string;
  /** Of this process; no other process has it. */
  readonly identity: string;
  /** Called once, when another process has taken the inventory over. */
  readonly overtaken: () => void;
}

export type HeadWriter = ReturnType<typeof createHeadWriter>;

/** Writes the head: the one object that every step of the inventory replaces. Each write is bound to the version before. */
export function createHeadWriter({ namespace, identity, overtaken }: HeadWriterOptions) {
  const object = createHeadObject(namespace);
  let holder: Holder | undefined;
  let refusal: Overtaken | undefined;
  return {
    take,
    read,
    write,
    /** The holder that stands for this process and its last attempt to write; undefined before `take`. */
    holder: () => holder,
    /** The error of every further request of this process; undefined: it was not overtaken. */
    refusal: () => refusal,
  };

  /** Makes this process the holder: from then on every write of an earlier process fails. */
  async function take(requests: Requests): Promise<void> {
    for (;;) {
      const data = await object.get(requests);
      const before = data && readHolder(data);
      // The answer to an earlier attempt was lost.
      const next = before?.identity === identity ? before : await nextHolder(requests, before);
      if (next === before || (await object.put(requests, withHolder(data ?? {}, next)))) {
        holder = next;
        return;
      }
    }
  }

  /** Without a readable holder the term follows from the pieces: their names must never be used again. */
  async function nextHolder(requests: Requests, before: Holder | undefined): Promise<Holder> {
    const pieces = before === undefined ? await listPieces(requests, namespace) : [];
    const term = Math.max(before?.term ?? 0, ...pieces.map((piece) => piece.term)) + 1;
    return { identity, term, write: 0 };
  }

  /** The data of the head; undefined: it does not exist. Rejects if this process has been overtaken. */
  async function read(requests: Requests): Promise<JsonObject | undefined> {
    const data = await object.get(requests);
    if (holder !== undefined && data !== undefined) checkStillOurs(data, holder);
    return data;
  }

  /** Writes the content atomically. Rejects if that failed or its outcome is unknown. */
  async function write(requests: Requests, content: HeadContent): Promise<void> {
    if (holder === undefined) throw new Error('the inventory is written only after it was taken');
    const ours = { ...holder, write: holder.write + 1 };
    holder = ours;
    const data = renderHead(content, ours);
    while (!(await object.put(requests, data))) {
      const found = await object.get(requests);
      // A head that a person has removed is created again.
      if (found === undefined) continue;
      checkStillOurs(found, ours);
      // The answer was lost. A head that a person has edited is written again.
      if (readHolder(found)?.write === ours.write && found.sha256 === data.sha256) return;
    }
  }

  function checkStillOurs(data: JsonObject, ours: Holder): void {
    const now = readHolder(data);
    if (now?.identity === ours.identity && now.term === ours.term) return;
    const who = now === undefined ? 'an unknown process' : now.identity;
    refusal = new Overtaken(
      `${who} has taken the inventory over: this process has been fenced and writes nothing any more`,
    );
    overtaken();
    throw refusal;
  }
}

/** The head on the API server, with the metadata that the next write is bound to. */
function createHeadObject(namespace: string) {
  const path = configMapPath(namespace, HEAD_NAME);
  /** Undefined: it does not exist. */
  let metadata: JsonObject | undefined;
  return { get, put };

  async function get(requests: Requests): Promise<JsonObject | undefined> {
    const answer = await requests.untilAnswered({ method: 'GET', path });
    if (answer.type === 'refused' && answer.status !== 404) throw new Error(answerText(answer));
    metadata = answer.type === 'ok' ? metadataIn(answer.body) : undefined;
    return answer.type === 'ok' ? objectOf(answer.body.data) : undefined;
  }

  /** Returns false, after a pause, if the write failed or its outcome is unknown: `get` tells. Rejects if retries are useless. */
  async function put(requests: Requests, data: JsonObject): Promise<boolean> {
    const body = configMap(namespace, HEAD_NAME, data);
    const answer = await requests.once(
      metadata === undefined
        ? { method: 'POST', path: configMapPath(namespace), body }
        : { method: 'PUT', path, body: { ...body, metadata: keptMetadata(body, metadata) } },
    );
    if (answer.type === 'ok') {
      metadata = metadataIn(answer.body);
      return true;
    }
    if (answer.type === 'refused' && answer.status === 404 && metadata === undefined) {
      throw new Error(`the namespace ${namespace} is not there; make it: kubectl create namespace ${namespace}`);
    }
    const isConflict = answer.type === 'refused' && (answer.status === 404 || answer.status === 409);
    if (!isConflict && !isPassing(answer)) throw new Error(answerText(answer));
    await requests.pause(isConflict ? 'another process keeps changing it' : answerText(answer));
    return false;
  }
}

/** Keeps the labels, annotations and owners that others have set. */
function keptMetadata(body: JsonObject, { managedFields: _, ...kept }: JsonObject): JsonObject {
  return { ...kept, labels: { ...objectOf(kept.labels), ...objectOf(objectOf(body.metadata).labels) } };
}

function metadataIn({ metadata }: JsonObject): JsonObject | undefined {
  return isJsonObject(metadata) ? metadata : undefined;
}
