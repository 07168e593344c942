import { sha256 } from '../../../model/digest.ts';
import { objectOf, objectsOf, textOf } from '../../../model/json.ts';
import { type Asking, answerText } from './ask.ts';
import { configMap, configMapPath, HEAD_NAME, INVENTORY_LABEL } from './config-maps.ts';
import { dataOf, type PieceRef } from './head.ts';

/** An API server takes 1 MiB of data in one ConfigMap. */
const PIECE_BYTES = 512 * 1024;
const RECORDS = 'records';
const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Cuts lines into texts that one ConfigMap can hold; only a line that is longer than that is cut itself. */
export function cut(text: string, largest = PIECE_BYTES): readonly string[] {
  const pieces: string[] = [];
  let piece: string[] = [];
  let bytes = 0;
  const close = (): void => {
    if (piece.length > 0) pieces.push(piece.join(''));
    piece = [];
    bytes = 0;
  };
  for (const line of text.split(/(?<=\n)/)) {
    const length = Buffer.byteLength(line);
    if (bytes + length > largest) close();
    if (length > largest) pieces.push(...cutLine(line, largest));
    else if (length > 0) {
      piece.push(line);
      bytes += length;
    }
  }
  close();
  return pieces;
}

/** By characters: three bytes each at most, or four for a pair. */
function cutLine(line: string, largest: number): readonly string[] {
  const parts: string[] = [];
  const step = Math.max(2, Math.floor(largest / 3));
  for (let start = 0; start < line.length; ) {
    let end = Math.min(line.length, start + step);
    const last = line.charCodeAt(end - 1);
    if (end < line.length && last >= 0xd800 && last <= 0xdbff) end -= 1;
    parts.push(line.slice(start, end));
    start = end;
  }
  return parts;
}

/** Writes a text as new pieces. Rejects if one of them cannot be written. */
export async function writePieces(
  asking: Asking,
  namespace: string,
  { term, attempt, text }: { readonly term: number; readonly attempt: number; readonly text: string },
): Promise<readonly PieceRef[]> {
  const refs: PieceRef[] = [];
  for (const [number, piece] of cut(text).entries()) {
    const name = `${HEAD_NAME}-${term}-${attempt}-${number}`;
    const answer = await asking.patiently({
      method: 'POST',
      path: configMapPath(namespace),
      body: configMap(namespace, name, { [RECORDS]: piece }, { immutable: true }),
    });
    const taken = answer.type === 'refused' && answer.status === 409;
    // The answer to an earlier attempt was lost.
    const there = taken && (await readPiece(asking, namespace, name)) === piece;
    if (answer.type !== 'ok' && !there) throw new Error(answerText(answer));
    refs.push({ name, sha256: sha256(piece), bytes: Buffer.byteLength(piece) });
  }
  return refs;
}

/** The text of a piece; undefined if it is not there. Rejects if that cannot be found out. */
export async function readPiece(asking: Asking, namespace: string, name: string): Promise<string | undefined> {
  const answer = await asking.patiently({ method: 'GET', path: configMapPath(namespace, name) });
  if (answer.type === 'refused' && answer.status === 404) return undefined;
  if (answer.type === 'refused') throw new Error(answerText(answer));
  return textOf(dataOf(answer.body)[RECORDS]);
}

/** A piece in the cluster, and the term that its name says. */
export interface FoundPiece {
  readonly name: string;
  readonly uid: string;
  readonly term: number;
}

/** All pieces that are there, whoever counts on them. */
export async function listPieces(asking: Asking, namespace: string): Promise<readonly FoundPiece[]> {
  const found: FoundPiece[] = [];
  let next = '';
  do {
    const answer = await asking.patiently({
      method: 'GET',
      path: configMapPath(namespace),
      query: { labelSelector: `${INVENTORY_LABEL}=true`, limit: '500', ...(next === '' ? {} : { continue: next }) },
      accept: METADATA_ONLY,
    });
    if (answer.type === 'refused') throw new Error(answerText(answer));
    const { items, metadata } = answer.body;
    for (const item of objectsOf(items)) {
      const piece = foundPiece(objectOf(item.metadata));
      if (piece !== undefined) found.push(piece);
    }
    next = textOf(objectOf(metadata).continue);
  } while (next !== '');
  return found;
}

function foundPiece({ name, uid }: { readonly name?: unknown; readonly uid?: unknown }): FoundPiece | undefined {
  if (typeof name !== 'string' || typeof uid !== 'string') return undefined;
  const [, term] = /^fleetrelay-inventory-(\d+)-\d+-\d+$/.exec(name) ?? [];
  return term === undefined ? undefined : { name, uid, term: Number(term) };
}

/** Removes this very piece. Rejects if that cannot be done. */
export async function removePiece(asking: Asking, namespace: string, { name, uid }: FoundPiece): Promise<void> {
  const answer = await asking.patiently({
    method: 'DELETE',
    path: configMapPath(namespace, name),
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
  });
  const isGone = answer.type === 'refused' && (answer.status === 404 || answer.status === 409);
  if (answer.type === 'refused' && !isGone) throw new Error(answerText(answer));
}
