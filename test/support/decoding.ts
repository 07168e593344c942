import type { DecodeLimits } from '../../src/manifest/limits.ts';
import type { DocumentContent, SourceDocument } from '../../src/model/fleet/desired.ts';
import { displayDiagnostic } from '../../src/model/fleet/diagnostic.ts';
import { decodeFile } from './decode-file.ts';

/** The bytes of a text. */
export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** The diagnostics of a manifest, one line each. */
export function complaints(text: string, path = 'a.yaml', limits?: DecodeLimits): readonly string[] {
  return decodeFile(path, bytesOf(text), 'blob', limits === undefined ? {} : { limits }).diagnostics.map(
    displayDiagnostic,
  );
}

/** The documents of a manifest that must be readable. */
export function documentsOf(text: string, path = 'a.yaml'): readonly SourceDocument[] {
  const { reading, diagnostics } = decodeFile(path, bytesOf(text), 'blob');
  if (!reading.readable) throw new Error(diagnostics.map(displayDiagnostic).join('\n'));
  return reading.documents;
}

/** The content of the only document of a manifest that must be readable. */
export function contentOf(text: string, path?: string): DocumentContent {
  const documents = documentsOf(text, path);
  const [document] = documents;
  if (document === undefined || documents.length > 1) throw new Error(`${documents.length} documents`);
  return document.content;
}
