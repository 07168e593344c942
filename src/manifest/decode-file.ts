import type { DecodedFile, SourceDocument } from '../model/desired.ts';
import { sentenceOf } from '../model/diagnostic.ts';
import type { DocumentReading } from './kinds/reading.ts';
import { type DecodeLimits, defaultDecodeLimits } from './limits.ts';
import { flattenLists } from './lists.ts';
import { fieldError } from './problem.ts';
import { readDocument } from './read-document.ts';
import { type FileDocuments, type Finding, inOrder, isClean, readFile } from './read-file.ts';

/**
 * Decodes one manifest file (YAML with any number of documents, or JSON). Never throws for any bytes: what is wrong is
 * said in the diagnostics, in the order of the file, and one error makes the whole file unreadable.
 *
 * @param path relative to the root of the source, with `/`; `.json` is read as JSON
 * @param blob identifies the bytes (git's object id, or a digest); handed on in the reading
 */
export function decodeFile(
  path: string,
  bytes: Uint8Array,
  blob: string,
  limits: DecodeLimits = defaultDecodeLimits,
): DecodedFile {
  const file = readFile(path, bytes, limits);
  const findings = [...file.findings];
  const documents = decodeDocuments(file, limits, findings);
  const diagnostics = inOrder(findings);
  const found = { blob, findings: diagnostics.map(sentenceOf) };
  if (!isClean(findings)) return { reading: { readable: false, ...found }, diagnostics };
  return { reading: { readable: true, ...found, documents }, diagnostics };
}

function decodeDocuments(file: FileDocuments, limits: DecodeLimits, findings: Finding[]): readonly SourceDocument[] {
  const documents: SourceDocument[] = [];
  const seen = new Map<string, number>();
  let index = 0;
  for (const document of file.documents) {
    for (const part of flattenLists(document.value)) {
      if (index >= limits.maxDocuments) {
        const message = `the file holds more than ${limits.maxDocuments} documents, items of lists among them`;
        findings.push(file.place(document, fieldError('TooManyDocuments', part.path, message)));
        return documents;
      }
      const reading = readDocument(part.value);
      for (const problem of reading.problems) {
        findings.push(file.place(document, { ...problem, path: [...part.path, ...problem.path] }));
      }
      const decoded = sourceDocument(reading, index, seen);
      if (decoded !== undefined) documents.push(decoded);
      index += 1;
    }
  }
  return documents;
}

function sourceDocument(
  reading: DocumentReading,
  index: number,
  seen: Map<string, number>,
): SourceDocument | undefined {
  if (reading.content === undefined || reading.identity === undefined) return undefined;
  return { identity: countedIdentity(reading.identity, seen), index, content: reading.content };
}

/** The identity, with `#2`, `#3` and so on for a repetition in the same file. */
export function countedIdentity(identity: string, seen: Map<string, number>): string {
  const count = (seen.get(identity) ?? 0) + 1;
  seen.set(identity, count);
  return count === 1 ? identity : `${identity}#${count}`;
}
