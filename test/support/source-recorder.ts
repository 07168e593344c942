import type { DecodedFile } from '../../src/model/fleet/desired.ts';
import { diagnosticOf } from '../../src/model/fleet/diagnostic.ts';
import type { RevisionObservation, SourceCondition, SourceListener } from '../../src/ports/source.ts';
import type { DecodeFile } from '../../src/sources/tree/tree-file.ts';

/** A listener that keeps what it is told, and the files that add up from it. */
export interface SourceRecorder extends SourceListener {
  readonly observations: readonly RevisionObservation[];
  readonly conditions: readonly SourceCondition[];
  /** Path to `complete`, or `unreadable`. */
  readonly files: ReadonlyMap<string, 'complete' | 'unreadable'>;
  lastCondition(): SourceCondition | undefined;
}

/** Creates the listener. */
export function createSourceRecorder(): SourceRecorder {
  const observations: RevisionObservation[] = [];
  const conditions: SourceCondition[] = [];
  const files = new Map<string, 'complete' | 'unreadable'>();
  return {
    observations,
    conditions,
    files,
    observe: (observation) => {
      observations.push(observation);
      for (const { path, file } of observation.changes) {
        if (file === null) files.delete(path);
        else files.set(path, file.readable ? 'complete' : 'unreadable');
      }
    },
    condition: (condition) => void conditions.push(condition),
    lastCondition: () => conditions.at(-1),
  };
}

/** A decoder for tests: a file that holds `bad` cannot be read, with a place; keeps what it was asked for. */
export function createTestDecoder(): { readonly decode: DecodeFile; readonly decoded: string[] } {
  const decoded: string[] = [];
  const decode = (path: string, bytes: Uint8Array, blob: string): DecodedFile => {
    decoded.push(path);
    const size = { documents: 1, nodes: 1, expandedBytes: 0 };
    const column = Buffer.from(bytes).toString().indexOf('bad') + 1;
    if (column === 0) return { reading: { readable: true, blob, findings: [], documents: [] }, size, diagnostics: [] };
    const at = { path, line: 1, column };
    const diagnostic = diagnosticOf({ severity: 'error', reason: 'YamlSyntax', message: 'it is bad', at });
    return { reading: { readable: false, blob, findings: [diagnostic.message] }, size, diagnostics: [diagnostic] };
  };
  return { decode, decoded };
}
