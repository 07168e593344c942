import { fieldWarning } from '../../../manifest/problem.ts';
import type { FileDocuments, FileFinding } from '../../../manifest/read-file.ts';
import { diagnosticOf } from '../../../model/fleet/diagnostic.ts';
import type { FieldPath } from '../../../model/text/field-path.ts';
import { type JsonObject, textOf } from '../../../model/text/json.ts';
import { findModelines } from '../../../validation/custom/modelines.ts';
import type { ObjectChecks } from './object-checks.ts';

/** An object of a file that has no schema. */
interface Unjudged {
  readonly document: Parameters<FileDocuments['place']>[0];
  readonly path: FieldPath;
  readonly value: JsonObject;
  /** Where it begins. */
  readonly line: number;
  /** Where the object above it begins; 0 if there is none. */
  readonly previousLine: number;
}

/** The file whose objects are judged, and where their findings go. */
interface NamedSchemasOf {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly file: FileDocuments;
  readonly checks: ObjectChecks;
  readonly findings: FileFinding[];
}

/**
 * Judges objects without schema by the schema that the file names for them: in a comment above the object
 * (`# yaml-language-server: $schema=...`), or in the field `$schema`.
 */
export function createNamedSchemas({ name, bytes, file, checks, findings }: NamedSchemasOf) {
  const modelines = findModelines(textWith(bytes, 'yaml-language-server'));
  const schemas: string[] = [];
  return {
    /** The references that were found until now. */
    schemas,
    /** Returns whether a schema was found; adds the problems of the object, or why its schema is not read. */
    judge({ document, path, value, line, previousLine }: Unjudged): boolean {
      const modeline = modelines.findLast((each) => each.line > previousLine && each.line < line);
      const reference = modeline?.reference ?? textOf(value.$schema);
      if (reference === '') return false;
      schemas.push(reference);
      const check = checks.named(name, reference);
      if (check === undefined) return false;
      const { offset } = file.place(document, fieldWarning('NoSchema', [...path, 'kind'], ''));
      if (!check.ok) {
        const place = modeline ?? file.locate(document, [...path, '$schema'], 'value');
        const at = { path: name, line: place.line ?? line, column: place.column ?? 1 };
        const severity = 'warning';
        findings.push({
          diagnostic: diagnosticOf({ severity, reason: 'SchemaNotRead', message: check.problem, at }),
          offset,
        });
        return false;
      }
      const known = findings.findIndex(
        (finding) => finding.diagnostic.reason === 'NoSchema' && finding.offset === offset,
      );
      if (known >= 0) findings.splice(known, 1);
      for (const problem of check.value(value)) {
        findings.push(file.place(document, { ...problem, path: [...path, ...problem.path] }));
      }
      return true;
    },
  };
}

/** The text, if it contains the word; else no text, so that few files are decoded twice. */
function textWith(bytes: Uint8Array, word: string): string {
  const { buffer, byteOffset, byteLength } = bytes;
  const view = Buffer.from(buffer, byteOffset, byteLength);
  return view.includes(word) ? view.toString('utf8') : '';
}
