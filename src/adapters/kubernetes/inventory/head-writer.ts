import { isJsonObject, type JsonObject, objectOf } from '../../../model/json.ts';
import type { KubeRequest } from '../api/types.ts';
import { type Asking, answerText, isPassing } from './ask.ts';
import { configMap, configMapPath, HEAD_NAME } from './config-maps.ts';
import { dataOf, type HeadContent, type Holder, readHolder, renderHead, withHolder } from './head.ts';
import { listPieces } from './pieces.ts';

/** The one object that every step of the inventory goes through. Each write is on condition that nobody else has written. */
export interface HeadWriter {
  /** Puts this process in the place of whoever held the inventory before: from now on every write of theirs fails. */
  take(asking: Asking): Promise<void>;
  /** What is there now; undefined if nothing is. Rejects if it was taken by this process and is somebody else's now. */
  read(asking: Asking): Promise<JsonObject | undefined>;
  /** The atomic step. Rejects if it did not happen, or nobody knows. */
  write(asking: Asking, content: HeadContent): Promise<void>;
  /** Of this process and its last attempt to write; undefined before `take`. */
  holder(): Holder | undefined;
  /** What every further request of this process is refused with; undefined while it was not overtaken. */
  refusal(): Overtaken | undefined;
}

/** Another process writes the inventory now; this one never does again. */
export class Overtaken extends Error {}

export interface HeadWriterOptions {
  readonly namespace: string;
  /** Of this very process and turn. */
  readonly identity: string;
  /** Called once, when it turns out that another process holds the inventory now. */
  readonly overtaken: () => void;
}

export function createHeadWriter(options: HeadWriterOptions): HeadWriter {
  const { namespace, identity } = options;
  const there = createHeadObject(namespace);
  let holder: Holder | undefined;
  let overtaken: Overtaken | undefined;

  return { take, read, write, holder: () => holder, refusal: () => overtaken };

  async function take(asking: Asking): Promise<void> {
    for (;;) {
      const data = await there.get(asking);
      const before = data && readHolder(data);
      // The answer to an earlier attempt was lost.
      const next = before?.identity === identity ? before : await nextHolder(asking, before);
      if (next === before || (await there.put(asking, withHolder(data ?? {}, next)))) {
        holder = next;
        return;
      }
    }
  }

  /** Where the head cannot say: no piece of an earlier process may be taken for one of ours. */
  async function nextHolder(asking: Asking, before: Holder | undefined): Promise<Holder> {
    const pieces = before === undefined ? await listPieces(asking, namespace) : [];
    const term = Math.max(before?.term ?? 0, ...pieces.map((piece) => piece.term)) + 1;
    return { identity, term, write: 0 };
  }

  async function read(asking: Asking): Promise<JsonObject | undefined> {
    const data = await there.get(asking);
    if (holder !== undefined && data !== undefined) checkStillOurs(data, holder);
    return data;
  }

  async function write(asking: Asking, content: HeadContent): Promise<void> {
    if (holder === undefined) throw new Error('the inventory is written only after it was taken');
    const ours = { ...holder, write: holder.write + 1 };
    holder = ours;
    const data = renderHead(content, ours);
    while (!(await there.put(asking, data))) {
      const found = await there.get(asking);
      // Whoever takes it away by hand does not take it from us: it is made anew.
      if (found === undefined) continue;
      checkStillOurs(found, ours);
      // The answer was lost. Anything else that is there was changed by hand, and we know better.
      if (readHolder(found)?.write === ours.write && found.sha256 === data.sha256) return;
    }
  }

  function checkStillOurs(data: JsonObject, ours: Holder): void {
    const now = readHolder(data);
    if (now?.identity === ours.identity && now.term === ours.term) return;
    const who = now === undefined ? 'somebody' : now.identity;
    overtaken = new Overtaken(
      `${who} has taken the inventory over: this process has been fenced and writes nothing any more`,
    );
    options.overtaken();
    throw overtaken;
  }
}

/** The head as an object of the API server: remembers as what it was seen last, and writes on that condition. */
function createHeadObject(namespace: string) {
  const path = configMapPath(namespace, HEAD_NAME);
  /** Undefined: it is not there. */
  let metadata: JsonObject | undefined;
  return { get, put };

  async function get(asking: Asking): Promise<JsonObject | undefined> {
    const answer = await asking.patiently({ method: 'GET', path });
    const isMissing = answer.type === 'refused' && answer.status === 404;
    if (answer.type === 'refused' && !isMissing) throw new Error(answerText(answer));
    metadata = answer.type === 'ok' ? metadataOf(answer.body) : undefined;
    return answer.type === 'ok' ? dataOf(answer.body) : undefined;
  }

  /** False, after a while: it did not happen or nobody knows, and `get` tells. Rejects if trying again cannot help. */
  async function put(asking: Asking, data: JsonObject): Promise<boolean> {
    const answer = await asking.once(metadata === undefined ? creation(data) : replacement(data, metadata));
    if (answer.type === 'ok') {
      metadata = metadataOf(answer.body);
      return true;
    }
    if (answer.type === 'refused' && answer.status === 404 && metadata === undefined) {
      throw new Error(`the namespace ${namespace} is not there; make it: kubectl create namespace ${namespace}`);
    }
    const isConflict = answer.type === 'refused' && (answer.status === 404 || answer.status === 409);
    if (!isConflict && !isPassing(answer)) throw new Error(answerText(answer));
    await asking.pause(isConflict ? 'somebody else keeps changing it' : answerText(answer));
    return false;
  }

  function creation(data: JsonObject): KubeRequest {
    return { method: 'POST', path: configMapPath(namespace), body: configMap(namespace, HEAD_NAME, data) };
  }

  /** What people have put there stays: labels, annotations, owners. */
  function replacement(data: JsonObject, seen: JsonObject): KubeRequest {
    const fresh = configMap(namespace, HEAD_NAME, data);
    const { managedFields: _, ...kept } = seen;
    const labels = { ...objectOf(kept.labels), ...objectOf(metadataOf(fresh)?.labels) };
    return { method: 'PUT', path, body: { ...fresh, metadata: { ...kept, labels } } };
  }
}

function metadataOf({ metadata }: JsonObject): JsonObject | undefined {
  return isJsonObject(metadata) ? metadata : undefined;
}
