import { sha256 } from '../../../model/text/digest.ts';
import { type JsonObject, objectOf, objectsOf, textOf } from '../../../model/text/json.ts';
import { given } from '../../../model/values/given.ts';
import { resourcePath } from '../api/paths.ts';
import type { PieceRef } from './head.ts';
import { answerText, type Requests } from './requests.ts';

/** Name of the head. Pieces are called `HEAD-TERM-SAVE-NUMBER`. */
export const HEAD_NAME = 'fleetrelay-inventory';
/** On the head and on each piece. */
const INVENTORY_LABEL = 'fleetrelay.dev/inventory';
const CONFIG_MAPS = { group: '', version: 'v1', resource: 'configmaps' };
/** An API server accepts 1 MiB of data in one ConfigMap. */
const PIECE_BYTES = 512 * 1024;
const RECORDS = 'records';
const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Path of a ConfigMap, or of all of them. */
export function configMapPath(namespace: string, name?: string): string {
  return resourcePath({ resource: CONFIG_MAPS, namespace, ...given({ name }) });
}

/** A ConfigMap of the inventory. */
export function configMap(namespace: string, name: string, data: JsonObject): JsonObject {
  const metadata = { name, namespace, labels: { [INVENTORY_LABEL]: 'true' } };
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data };
}

/** Cuts a text into parts that fit into one ConfigMap each, between characters. Joined, they are the text again. */
function cut(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  const parts: string[] = [];
  for (let start = 0; start < bytes.length; ) {
    let end = Math.min(bytes.length, start + PIECE_BYTES);
    while (end < bytes.length && (bytes.readUInt8(end) & 0xc0) === 0x80) end -= 1;
    parts.push(bytes.toString('utf8', start, end));
    start = end;
  }
  return parts;
}

/** Writes a text as new pieces. `prefix`: of their names. Rejects if one of them cannot be written. */
export async function writePieces(
  requests: Requests,
  namespace: string,
  prefix: string,
  text: string,
): Promise<readonly PieceRef[]> {
  const refs: PieceRef[] = [];
  for (const [number, piece] of cut(text).entries()) {
    const name = `${prefix}-${number}`;
    const body = { ...configMap(namespace, name, { [RECORDS]: piece }), immutable: true };
    const answer = await requests.untilAnswered({ method: 'POST', path: configMapPath(namespace), body });
    // After 409 an earlier attempt has succeeded and its answer was lost, if the content is the same.
    const isTaken = answer.type === 'refused' && answer.status === 409;
    const isWritten = isTaken && (await readPiece(requests, namespace, name)) === piece;
    if (answer.type !== 'ok' && !isWritten) throw new Error(answerText(answer));
    refs.push({ name, sha256: sha256(piece), bytes: Buffer.byteLength(piece) });
  }
  return refs;
}

/** The text of a piece; undefined if the piece does not exist. Rejects if it cannot be read. */
export async function readPiece(requests: Requests, namespace: string, name: string): Promise<string | undefined> {
  const answer = await requests.untilAnswered({ method: 'GET', path: configMapPath(namespace, name) });
  if (answer.type === 'refused' && answer.status === 404) return undefined;
  if (answer.type === 'refused') throw new Error(answerText(answer));
  return textOf(objectOf(answer.body.data)[RECORDS]);
}

interface FoundPiece {
  readonly name: string;
  readonly uid: string;
  /** As its name says. */
  readonly term: number;
}

/** All pieces that exist. */
export async function listPieces(requests: Requests, namespace: string): Promise<readonly FoundPiece[]> {
  const found: FoundPiece[] = [];
  let token = '';
  do {
    const page = { limit: '500', ...(token === '' ? {} : { continue: token }) };
    const answer = await requests.untilAnswered({
      method: 'GET',
      path: configMapPath(namespace),
      query: { labelSelector: `${INVENTORY_LABEL}=true`, ...page },
      accept: METADATA_ONLY,
    });
    if (answer.type === 'refused') throw new Error(answerText(answer));
    for (const { metadata } of objectsOf(answer.body.items)) {
      const { name, uid } = objectOf(metadata);
      const [, term] = /^fleetrelay-inventory-(\d+)-\d+-\d+$/.exec(textOf(name)) ?? [];
      if (term !== undefined) found.push({ name: textOf(name), uid: textOf(uid), term: Number(term) });
    }
    token = textOf(objectOf(answer.body.metadata).continue);
  } while (token !== '');
  return found;
}

/** Removes the piece with this UID. Rejects if that is refused. */
export async function removePiece(requests: Requests, namespace: string, { name, uid }: FoundPiece): Promise<void> {
  const answer = await requests.untilAnswered({
    method: 'DELETE',
    path: configMapPath(namespace, name),
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
  });
  const isGone = answer.type === 'refused' && (answer.status === 404 || answer.status === 409);
  if (answer.type === 'refused' && !isGone) throw new Error(answerText(answer));
}
