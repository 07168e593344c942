import type { DocumentReading } from '../../manifest/kinds/reading.ts';
import type { SourceDocument } from '../../model/fleet/desired.ts';
import type { Diagnostic, FindingReason } from '../../model/fleet/diagnostic.ts';
import { engineKindOf } from '../../model/fleet/engine-kinds.ts';
import { parseApiVersion } from '../../model/objects/object-key.ts';
import { isJsonObject, type JsonObject, type JsonValue, textOf } from '../../model/text/json.ts';
import { factsOf, type ObjectFacts } from '../../validation/across-files/facts.ts';

/** What rules across files need of one file: plain data, as threads send it. */
export interface FileFacts {
  /** Of every document with an identity, in the order of the file. */
  readonly objects: readonly ObjectFacts[];
  /** The documents of engine kinds. */
  readonly declarations: readonly SourceDocument[];
  /** It may declare more than that: a part of it cannot be read, or another program makes manifests of it. */
  readonly isPartial: boolean;
}

/** A file that cannot be read. */
export const unreadFile: FileFacts = { objects: [], declarations: [], isPartial: true };

/** A document as the check of a file reads it. */
interface ReadDocument {
  readonly index: number;
  readonly identity: string | undefined;
  readonly value: JsonValue;
  readonly reading: DocumentReading;
}

/** Collects the facts about the documents of a file. */
export function collectFacts() {
  const objects: ObjectFacts[] = [];
  const declarations: SourceDocument[] = [];
  let isPartial = false;
  return {
    add({ index, identity, value, reading: { content } }: ReadDocument): void {
      if (!isJsonObject(value)) return;
      const facts = factsOf(value);
      if (facts !== undefined) objects.push(facts);
      if (content?.type === 'declaration' && identity !== undefined) declarations.push({ identity, index, content });
      else if (content === undefined && isOfEngine(value)) isPartial = true;
    },
    end(diagnostics: readonly Diagnostic[]): FileFacts {
      return { objects, declarations, isPartial: isPartial || diagnostics.some(hidesDocuments) };
    },
  };
}

function isOfEngine({ apiVersion, kind, type }: JsonObject): boolean {
  if (apiVersion === undefined && kind === undefined) return typeof type === 'string';
  const version = parseApiVersion(textOf(apiVersion));
  return version.ok && engineKindOf(version.value.group, textOf(kind)) !== undefined;
}

const FOREIGN: readonly FindingReason[] = ['HelmChart', 'Kustomization'];

/** Whether documents may be behind the finding. */
function hidesDocuments({ severity, code, reason }: Diagnostic): boolean {
  return FOREIGN.includes(reason) || (severity === 'error' && code < 'FR1030');
}
